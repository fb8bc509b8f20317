// The JSON of requests and answers. Both ends are the same program, yet nothing is taken on trust: a missing field
// throws.
#include "measure/worker_protocol.h"

#include <fstream>
#include <new>
#include <system_error>

#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright::protocol {
namespace {

namespace fs = std::filesystem;

fs::path with_extension(const fs::path& stem, const char* extension) { return fs::path(stem.string() + extension); }

/// Without the care of write_file, which waits for the disk: the file lives for one trial and only its two ends see it.
void write_blob(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw EnvironmentError("cannot write " + path.string() + ": is the disk full?");
}

}  // namespace

Json worker_hello() { return {{"worker", 1}}; }

Json to_json(const EnvironmentRequest& request) {
  return {{"request", "environment"}, {"device", request.device}, {"nvrtc", request.nvrtc_path}};
}
EnvironmentRequest environment_request_from_json(const Json& json) {
  return {json.at("device").get<std::string>(), json.at("nvrtc").get<std::string>()};
}

Json to_json(const EnvironmentAnswer& answer) {
  return {{"target", to_json(answer.target)},
          {"evidence", name(answer.evidence)},
          {"device_description", answer.device_description},
          {"card_id", answer.card_id},
          {"compiler", answer.compiler}};
}
EnvironmentAnswer environment_answer_from_json(const Json& json) {
  return {target_from_json(json.at("target")), evidence_from_name(json.at("evidence").get<std::string>()),
          json.at("device_description").get<std::string>(), json.at("card_id").get<std::string>(),
          json.at("compiler").get<std::string>()};
}

Json to_json(const CompileRequest& request) {
  return {{"request", "compile"},          {"nvrtc", request.nvrtc_path},     {"arch", request.arch},
          {"entry", request.source.entry}, {"source", request.source.source}, {"stem", request.stem.string()}};
}
CompileRequest compile_request_from_json(const Json& json) {
  CompileRequest request;
  request.nvrtc_path = json.at("nvrtc").get<std::string>();
  request.arch = json.at("arch").get<std::string>();
  request.source.entry = json.at("entry").get<std::string>();
  request.source.source = json.at("source").get<std::string>();
  request.stem = json.at("stem").get<std::string>();
  return request;
}

Json to_json(const PrepareRequest& request) {
  return {{"request", "prepare"},
          {"workload", to_json(request.workload)},
          {"seed", request.seed},
          {"oracle_folder", request.oracle_folder.string()}};
}
PrepareRequest prepare_request_from_json(const Json& json) {
  return {workload_from_json(json.at("workload")), json.at("seed").get<uint64_t>(),
          json.at("oracle_folder").get<std::string>()};
}

Json to_json(const MeasureRequest& request) {
  return {{"request", "measure"},
          {"prepared", to_json(request.prepared)},
          {"device", request.device},
          {"config", to_json(request.config)},
          {"entry", request.source.entry},
          {"launch", to_json(request.source.launch)},
          {"arguments", to_json(request.source.arguments)},
          {"kernel", to_json(request.kernel)},
          {"stem", request.stem.string()},
          {"instruction_limit", request.instruction_limit},
          {"device_jobs", request.device_jobs}};
}
MeasureRequest measure_request_from_json(const Json& json) {
  MeasureRequest request;
  request.prepared = prepare_request_from_json(json.at("prepared"));
  request.device = json.at("device").get<std::string>();
  request.config = config_from_json(json.at("config"));
  request.source.entry = json.at("entry").get<std::string>();
  request.source.launch = launch_shape_from_json(json.at("launch"));
  request.source.arguments = arguments_from_json(json.at("arguments"));
  request.kernel = compiled_kernel_from_json(json.at("kernel"));
  request.stem = json.at("stem").get<std::string>();
  request.instruction_limit = json.at("instruction_limit").get<uint64_t>();
  request.device_jobs = json.at("device_jobs").get<int>();
  return request;
}

Json to_json(const MeasureAnswer& answer) {
  return {{"outcome", to_json(answer.outcome)},
          {"verify_s", answer.verify_s},
          {"run_s", answer.run_s},
          {"warm_samples_us", answer.warm_samples_us},
          {"sm_mhz", answer.clocks.sm_mhz},
          {"memory_mhz", answer.clocks.memory_mhz},
          {"throttled_by", answer.clocks.throttled_by}};
}
MeasureAnswer measure_answer_from_json(const Json& json) {
  MeasureAnswer answer;
  answer.outcome = outcome_from_json(json.at("outcome"));
  if (!json.contains("verify_s")) return answer;  // of a worker that had no memory for more
  answer.verify_s = json.at("verify_s").get<double>();
  answer.run_s = json.at("run_s").get<double>();
  answer.warm_samples_us = json.at("warm_samples_us").get<std::vector<double>>();
  answer.clocks = {json.at("sm_mhz").get<double>(), json.at("memory_mhz").get<double>(),
                   json.at("throttled_by").get<std::string>()};
  return answer;
}

Json to_json(const CompiledKernel& kernel) {
  return {{"entry", kernel.entry},
          {"arch", kernel.arch},
          {"registers", kernel.registers},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"static_smem_bytes", kernel.static_smem_bytes},
          {"local_bytes", kernel.local_bytes},
          {"log", kernel.log},
          {"compiler", kernel.compiler}};
}
CompiledKernel compiled_kernel_from_json(const Json& json) {
  CompiledKernel kernel;
  kernel.entry = json.at("entry").get<std::string>();
  kernel.arch = json.at("arch").get<std::string>();
  kernel.registers = json.at("registers").get<int>();
  kernel.spill_store_bytes = json.at("spill_store_bytes").get<int>();
  kernel.spill_load_bytes = json.at("spill_load_bytes").get<int>();
  kernel.static_smem_bytes = json.at("static_smem_bytes").get<int64_t>();
  kernel.local_bytes = json.at("local_bytes").get<int64_t>();
  kernel.log = json.at("log").get<std::string>();
  kernel.compiler = json.at("compiler").get<std::string>();
  return kernel;
}

Json to_json(const Outcome& outcome) {
  return {{"kind", name(outcome.kind)},
          {"message", outcome.message},
          {"log", outcome.log},
          {"samples_us", outcome.samples_us},
          {"limited_by", outcome.limited_by}};
}
Outcome outcome_from_json(const Json& json) {
  Outcome outcome;
  outcome.kind = outcome_kind_from_name(json.at("kind").get<std::string>());
  outcome.message = json.at("message").get<std::string>();
  outcome.log = json.at("log").get<std::string>();
  outcome.samples_us = json.at("samples_us").get<std::vector<double>>();
  outcome.limited_by = json.at("limited_by").get<std::string>();
  return outcome;
}

Json compile_answer(const std::variant<CompiledKernel, Outcome>& result) {
  if (const Outcome* outcome = std::get_if<Outcome>(&result)) return {{"outcome", to_json(*outcome)}};
  return {{"kernel", to_json(std::get<CompiledKernel>(result))}};
}
std::variant<CompiledKernel, Outcome> compile_result(const Json& answer, const fs::path& stem) {
  if (answer.contains("outcome")) return outcome_from_json(answer.at("outcome"));
  CompiledKernel kernel = compiled_kernel_from_json(answer.at("kernel"));
  read_binaries(stem, kernel);
  return kernel;
}

void write_binaries(const fs::path& stem, const CompiledKernel& kernel) {
  write_blob(with_extension(stem, ".ptx"), kernel.ptx);
  write_blob(with_extension(stem, ".cubin"), kernel.cubin);
}
void read_binaries(const fs::path& stem, CompiledKernel& kernel) {
  kernel.ptx = read_file(with_extension(stem, ".ptx"));
  kernel.cubin = read_file(with_extension(stem, ".cubin"));
}
void remove_binaries(const fs::path& stem) {
  std::error_code ignored;  // the folder goes at the end anyway
  fs::remove(with_extension(stem, ".ptx"), ignored);
  fs::remove(with_extension(stem, ".cubin"), ignored);
}

Json error_answer(const std::exception& error) {
  const char* type = "internal";
  if (dynamic_cast<const UsageError*>(&error) != nullptr) type = "usage";
  if (dynamic_cast<const EnvironmentError*>(&error) != nullptr) type = "environment";
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {
        {"outcome", to_json(Outcome{OutcomeKind::out_of_memory, "the worker had no host memory left", "", {}, ""})}};
  }
  return {{"error", type}, {"message", error.what()}};
}
void throw_if_error(const Json& answer) {
  if (!answer.contains("error")) return;
  const std::string type = answer.at("error").get<std::string>(), message = answer.at("message").get<std::string>();
  if (type == "usage") throw UsageError(message);
  if (type == "environment") throw EnvironmentError(message);
  throw InternalError("in a worker: " + message);
}

}  // namespace warpwright::protocol
