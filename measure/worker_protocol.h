// Requests to a worker and its answers, as JSON lines. Binaries go through files under the run's own folder.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "measure/card_clocks.h"
#include "src/core/config.h"
#include "src/core/json.h"
#include "src/core/kernel.h"
#include "src/core/outcome.h"
#include "src/core/target.h"
#include "src/core/workload.h"
#include "src/device/device.h"

namespace warpwright::protocol {

/// First line of a worker: what `WorkerProcess` waits for.
Json worker_hello();

/// What is there: compiler and device. Both opened, and the compiler's version held against the driver's.
struct EnvironmentRequest {
  std::string device, nvrtc_path;
};
struct EnvironmentAnswer {
  Target target;
  Evidence evidence = Evidence::virtual_device;
  std::string device_description, card_id, compiler;
};

struct CompileRequest {
  std::string nvrtc_path, arch;
  KernelSource source;         // launch and arguments stay with the caller
  std::filesystem::path stem;  // STEM.ptx and STEM.cubin are written
};

/// Example and expected output of a Workload, kept in the worker and shared through `oracle_folder`.
struct PrepareRequest {
  Workload workload;
  uint64_t seed = 1;
  std::filesystem::path oracle_folder;
};

struct MeasureRequest {
  PrepareRequest prepared;
  std::string device;
  Config config;
  KernelSource source;    // launch and arguments; the text stays with the caller
  CompiledKernel kernel;  // resources; PTX and cubin in the files of `stem`
  std::filesystem::path stem;
  uint64_t instruction_limit = 0;
  int device_jobs = 1;
};
struct MeasureAnswer {
  Outcome outcome = {};
  double verify_s = 0, run_s = 0;            // run: the timed loops; verify: all the rest of the measurement
  std::vector<double> warm_samples_us = {};  // with a warm L2, beside the outcome's with a cold one; may be empty
  CardClocks clocks = {};
};

Json to_json(const EnvironmentRequest& request);
Json to_json(const CompileRequest& request);
Json to_json(const PrepareRequest& request);
Json to_json(const MeasureRequest& request);
EnvironmentRequest environment_request_from_json(const Json& json);
CompileRequest compile_request_from_json(const Json& json);
PrepareRequest prepare_request_from_json(const Json& json);
MeasureRequest measure_request_from_json(const Json& json);

Json to_json(const EnvironmentAnswer& answer);
Json to_json(const MeasureAnswer& answer);
/// The numbers and the log; not the binaries.
Json to_json(const CompiledKernel& kernel);
Json to_json(const Outcome& outcome);
EnvironmentAnswer environment_answer_from_json(const Json& json);
MeasureAnswer measure_answer_from_json(const Json& json);
CompiledKernel compiled_kernel_from_json(const Json& json);
Outcome outcome_from_json(const Json& json);

/// The answer to CompileRequest: kernel or outcome.
Json compile_answer(const std::variant<CompiledKernel, Outcome>& result);
/// With PTX and cubin read from the files of `stem`.
std::variant<CompiledKernel, Outcome> compile_result(const Json& answer, const std::filesystem::path& stem);
void write_binaries(const std::filesystem::path& stem, const CompiledKernel& kernel);
void read_binaries(const std::filesystem::path& stem, CompiledKernel& kernel);
void remove_binaries(const std::filesystem::path& stem);

/// An exception that a worker met, to be thrown again by its parent with the same type; lack of host memory is an
/// outcome.
Json error_answer(const std::exception& error);
/// Throws when `answer` is an error_answer.
void throw_if_error(const Json& answer);

}  // namespace warpwright::protocol
