// What the parent asks of a worker, with crashes and missed deadlines as outcomes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "measure/worker_process.h"
#include "measure/worker_protocol.h"

namespace warpwright {

struct RequestLimits {
  double timeout_s = 0;
  StopCheck stop = {};
};

/// The entry of an empty kernel, which tells a broken compiler from a source that breaks it.
inline constexpr const char* kProbeEntry = "warpwright_probe";

/// Compiles in the worker. A crash is compile_error, a missed deadline compile_timeout; infrastructure when an empty
/// kernel fares no better, which is the compiler's fault and not the source's.
std::variant<CompiledKernel, Outcome> compile_in_worker(WorkerProcess& worker, const protocol::CompileRequest& request,
                                                        const RequestLimits& limits);
/// nullopt when the case is there; a failure says nothing about a Config.
std::optional<Outcome> prepare_in_worker(WorkerProcess& worker, const protocol::PrepareRequest& request,
                                         const RequestLimits& limits);
/// Verifies and times in the worker. A crash is crashed, a missed deadline run_timeout; the worker is replaced after
/// an outcome that may have spoiled its device.
protocol::MeasureAnswer measure_in_worker(WorkerProcess& worker, const protocol::MeasureRequest& request,
                                          const RequestLimits& limits);

}  // namespace warpwright
