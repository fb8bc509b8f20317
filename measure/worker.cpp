// Answers the requests of measure/worker_protocol.h, one at a time.
#include "measure/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <optional>

#include "measure/diagnosis.h"
#include "measure/worker_protocol.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/device/card_state.h"
#include "src/reference/oracle.h"

namespace warpwright {
namespace {

constexpr int64_t kOracleLimit_bytes = int64_t{256} << 20;

/// Lines of a file descriptor; nullopt at its end.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  std::optional<std::string> next() {
    std::string block(size_t{1} << 16, '\0');
    while (true) {
      if (const size_t newline = unread_.find('\n'); newline != std::string::npos) {
        std::string line = unread_.substr(0, newline);
        unread_.erase(0, newline + 1);
        return line;
      }
      const ssize_t count = read(fd_, block.data(), block.size());
      if (count == 0 || (count < 0 && errno != EINTR)) return std::nullopt;
      if (count > 0) unread_.append(block.data(), static_cast<size_t>(count));
    }
  }

 private:
  int fd_;
  std::string unread_;
};

bool write_line(int fd, const Json& json) {
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(fd, line.data() + written, line.size() - written);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) written += static_cast<size_t>(count);
  }
  return true;
}

class Worker {
 public:
  explicit Worker(WorkerParts parts) : parts_(std::move(parts)) {}
  Json answer(const Json& request);

 private:
  using OracleCasePointer = std::shared_ptr<const OracleCase>;

  Json environment(const protocol::EnvironmentRequest& request);
  Json compile(const protocol::CompileRequest& request);
  Json measure(protocol::MeasureRequest request);
  OracleCasePointer oracle_case(const protocol::PrepareRequest& request);
  Compiler& compiler(const std::string& nvrtc_path);
  Meter& meter(const std::string& device);

  WorkerParts parts_;
  std::map<std::string, std::unique_ptr<Compiler>> compilers_;
  std::map<std::string, Meter> meters_;
  std::map<std::string, Oracle> oracles_;  // by folder
};

Json Worker::answer(const Json& request) {
  const std::string kind = request.at("request").get<std::string>();
  if (kind == "environment") return environment(protocol::environment_request_from_json(request));
  if (kind == "compile") return compile(protocol::compile_request_from_json(request));
  if (kind == "measure") return measure(protocol::measure_request_from_json(request));
  if (kind == "prepare") {
    oracle_case(protocol::prepare_request_from_json(request));
    return Json::object();
  }
  if (kind == "diagnose") {
    Json checks = Json::array();
    for (const Check& check : diagnose(parts_, diagnosis_request_from_json(request))) checks.push_back(to_json(check));
    return {{"checks", checks}};
  }
  throw InternalError(fmt::format("a request '{}', which this worker does not know", kind));
}

Compiler& Worker::compiler(const std::string& nvrtc_path) {
  std::unique_ptr<Compiler>& compiler = compilers_[nvrtc_path];
  if (!compiler) compiler = parts_.open_compiler(nvrtc_path);
  return *compiler;
}

Meter& Worker::meter(const std::string& device) {
  return meters_.try_emplace(device, parts_.open_device, device, parts_.card_state).first->second;
}

Json Worker::environment(const protocol::EnvironmentRequest& request) {
  const Device& device = meter(request.device).device();
  const Compiler& nvrtc = compiler(request.nvrtc_path);
  require_compiler_fits(nvrtc, device);
  protocol::EnvironmentAnswer answer;
  answer.target = device.target();
  answer.evidence = device.evidence();
  answer.device_description = device.description();
  answer.card_id = parts_.card_id(request.device);
  answer.compiler = nvrtc.version();
  return to_json(answer);
}

Json Worker::compile(const protocol::CompileRequest& request) {
  const auto result = compiler(request.nvrtc_path).compile(request.source, request.arch);
  if (const CompiledKernel* kernel = std::get_if<CompiledKernel>(&result))
    protocol::write_binaries(request.stem, *kernel);
  return protocol::compile_answer(result);
}

std::shared_ptr<const OracleCase> Worker::oracle_case(const protocol::PrepareRequest& request) {
  const std::string folder = request.oracle_folder.string();
  Oracle& oracle = oracles_.try_emplace(folder, kOracleLimit_bytes, request.oracle_folder).first->second;
  return oracle.get(request.workload, request.seed);
}

Json Worker::measure(protocol::MeasureRequest request) {
  const auto begin = std::chrono::steady_clock::now();
  const OracleCasePointer right = oracle_case(request.prepared);
  protocol::read_binaries(request.stem, request.kernel);
  const Workload& workload = request.prepared.workload;
  const std::vector<Tensor> packed = pack_arguments(workload, request.config, request.source, right->example.values);
  const TrialData data{workload, right->example, right->expected, request.source.arguments, packed};
  const Measurement measured =
      meter(request.device)
          .measure({data, request.kernel, request.source.launch, request.instruction_limit, request.device_jobs, {}});
  const double all_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return to_json(protocol::MeasureAnswer{measured.outcome, all_s - measured.run_s, measured.run_s,
                                         measured.warm_samples_us, measured.clocks});
}

}  // namespace

int run_worker(int in_fd, int out_fd) {
  return run_worker(
      in_fd, out_fd,
      {[](const std::string& path) { return open_nvrtc(path); },
       [](std::string_view name, const DeviceOptions& options) { return open_device(name, options); },
       [](std::string_view name) { return card_id(name); }, [](std::string_view name) { return card_state(name); },
       [](std::string_view name) { return card_processes(name); }});
}

int run_worker(int in_fd, int out_fd, WorkerParts parts) {
  // The channel is ours alone: whatever a library prints goes to stderr.
  const int answers = dup(out_fd);
  if (answers < 0 || (out_fd == STDOUT_FILENO && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)) {
    throw EnvironmentError("the worker's output cannot be opened");
  }
  Worker worker(std::move(parts));
  LineReader requests(in_fd);
  if (!write_line(answers, protocol::worker_hello())) return 1;
  while (const std::optional<std::string> line = requests.next()) {
    Json answer;
    try {
      answer = worker.answer(Json::parse(*line));
    } catch (const std::exception& error) {
      answer = protocol::error_answer(error);
    }
    if (!write_line(answers, answer)) return 1;
  }
  return 0;
}

}  // namespace warpwright
