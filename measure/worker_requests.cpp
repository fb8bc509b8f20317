// From the reply of a worker, or its end, to an outcome.
#include "measure/worker_requests.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpwright {
namespace {

constexpr double kLeastProbeTimeout_s = 30;  // a busy machine makes no broken compiler

Outcome outcome_of(OutcomeKind kind, std::string message, std::string log) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  outcome.log = std::move(log);
  return outcome;
}

/// The outcome of a request that was not answered. `what`: `compiling`, `running`.
Outcome failure(const WorkerReply& reply, const char* what, double timeout_s, OutcomeKind late, OutcomeKind crash) {
  if (reply.end == WorkerReply::End::stopped) return outcome_of(OutcomeKind::interrupted, "interrupted", {});
  if (reply.end == WorkerReply::End::timed_out && !reply.was_halted) {
    return outcome_of(late, fmt::format("{} took longer than {} s", what, timeout_s), reply.log_tail);
  }
  const OutcomeKind kind = reply.ended_from_outside() ? OutcomeKind::infrastructure : crash;
  return outcome_of(kind, fmt::format("{}: the worker {}", what, reply.how()), reply.log_tail);
}

/// After a sticky error the driver refuses this process everything; after a full card, what it leaked goes with it.
bool may_have_spoiled_device(OutcomeKind kind) {
  return kind == OutcomeKind::memory_fault || kind == OutcomeKind::crashed || kind == OutcomeKind::device_lost ||
         kind == OutcomeKind::run_timeout || kind == OutcomeKind::out_of_memory;
}

std::variant<CompiledKernel, Outcome> compile_once(WorkerProcess& worker, const protocol::CompileRequest& request,
                                                   const RequestLimits& limits) {
  const WorkerReply reply = worker.call(to_json(request), limits.timeout_s, limits.stop);
  if (!reply.answered()) {
    return failure(reply, "compiling", limits.timeout_s, OutcomeKind::compile_timeout, OutcomeKind::compile_error);
  }
  protocol::throw_if_error(reply.json);
  return protocol::compile_result(reply.json, request.stem);
}

}  // namespace

std::variant<CompiledKernel, Outcome> compile_in_worker(WorkerProcess& worker, const protocol::CompileRequest& request,
                                                        const RequestLimits& limits) {
  auto result = compile_once(worker, request, limits);
  Outcome* outcome = std::get_if<Outcome>(&result);
  if (outcome == nullptr || is_transient(outcome->kind)) return result;
  protocol::CompileRequest probe{request.nvrtc_path, request.arch, {}, request.stem};
  probe.source.entry = kProbeEntry;
  probe.source.source = fmt::format("extern \"C\" __global__ void {}() {{}}", kProbeEntry);
  const auto probed = compile_once(worker, probe, {std::max(limits.timeout_s, kLeastProbeTimeout_s), limits.stop});
  protocol::remove_binaries(request.stem);
  const Outcome* probe_outcome = std::get_if<Outcome>(&probed);
  if (probe_outcome == nullptr) return result;
  if (probe_outcome->kind == OutcomeKind::interrupted) return *probe_outcome;
  return outcome_of(OutcomeKind::infrastructure,
                    fmt::format("the compiler is broken, an empty kernel fails too: {}", probe_outcome->message),
                    probe_outcome->log);
}

std::optional<Outcome> prepare_in_worker(WorkerProcess& worker, const protocol::PrepareRequest& request,
                                         const RequestLimits& limits) {
  const WorkerReply reply = worker.call(to_json(request), limits.timeout_s, limits.stop);
  if (!reply.answered()) {
    return failure(reply, "computing the expected output", limits.timeout_s, OutcomeKind::infrastructure,
                   OutcomeKind::infrastructure);
  }
  protocol::throw_if_error(reply.json);
  if (reply.json.contains("outcome")) return protocol::outcome_from_json(reply.json.at("outcome"));
  return std::nullopt;
}

protocol::MeasureAnswer measure_in_worker(WorkerProcess& worker, const protocol::MeasureRequest& request,
                                          const RequestLimits& limits) {
  const WorkerReply reply = worker.call(to_json(request), limits.timeout_s, limits.stop);
  if (!reply.answered()) {
    return {failure(reply, "running", limits.timeout_s, OutcomeKind::run_timeout, OutcomeKind::crashed)};
  }
  if (reply.json.contains("error")) worker.replace();
  protocol::throw_if_error(reply.json);
  protocol::MeasureAnswer answer = protocol::measure_answer_from_json(reply.json);
  if (may_have_spoiled_device(answer.outcome.kind)) worker.replace();
  return answer;
}

}  // namespace warpwright
