// Whether a device can be measured on: compiler, driver, one kernel run, memory, clocks, who else is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/check.h"
#include "measure/runner.h"
#include "measure/worker.h"

namespace warpwright {

/// Throws EnvironmentError when the driver takes no code of this compiler, by the major versions of both.
void require_compiler_fits(const Compiler& compiler, const Device& device);

struct DiagnosisRequest {
  std::string device, nvrtc_path;
  int64_t task_bytes = 0;  // of the largest task's tensors; 0: of no task in particular
};
Json to_json(const DiagnosisRequest& request);
DiagnosisRequest diagnosis_request_from_json(const Json& json);

/// In the worker: each check is made as far as those before it let it, and none throws.
std::vector<Check> diagnose(const WorkerParts& parts, const DiagnosisRequest& request);

/// In the parent, which opens no driver: asks a worker of its own. One that dies or hangs is a failed check too.
/// Throws Interrupted.
std::vector<Check> diagnose_in_worker(const DiagnosisRequest& request, const RunnerOptions& options);

}  // namespace warpwright
