// From the reply of a worker, or its end, to an outcome.
#include "measure/worker_requests.h"

#include <fmt/format.h>

namespace warpwright {
namespace {

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
  if (reply.end == WorkerReply::End::timed_out) {
    return outcome_of(late, fmt::format("{} took longer than {} s", what, timeout_s), reply.log_tail);
  }
  const OutcomeKind kind = reply.killed_from_outside() ? OutcomeKind::infrastructure : crash;
  return outcome_of(kind, fmt::format("{}: the worker {}", what, reply.how()), reply.log_tail);
}

bool may_have_spoiled_device(OutcomeKind kind) {
  return kind == OutcomeKind::memory_fault || kind == OutcomeKind::crashed || kind == OutcomeKind::device_lost ||
         kind == OutcomeKind::run_timeout;
}

}  // namespace

std::variant<CompiledKernel, Outcome> compile_in_worker(WorkerProcess& worker, const protocol::CompileRequest& request,
                                                        const RequestLimits& limits) {
  const WorkerReply reply = worker.call(to_json(request), limits.timeout_s, limits.stop);
  if (!reply.answered()) {
    return failure(reply, "compiling", limits.timeout_s, OutcomeKind::compile_timeout, OutcomeKind::compile_error);
  }
  protocol::throw_if_error(reply.json);
  return protocol::compile_result(reply.json, request.stem);
}

std::optional<Outcome> prepare_in_worker(WorkerProcess& worker, const protocol::PrepareRequest& request,
                                         const RequestLimits& limits) {
  const WorkerReply reply = worker.call(to_json(request), limits.timeout_s, limits.stop);
  if (!reply.answered()) {
    return failure(reply, "computing the expected output", limits.timeout_s, OutcomeKind::infrastructure,
                   OutcomeKind::infrastructure);
  }
  protocol::throw_if_error(reply.json);
  return std::nullopt;
}

protocol::MeasureAnswer measure_in_worker(WorkerProcess& worker, const protocol::MeasureRequest& request,
                                          const RequestLimits& limits) {
  const WorkerReply reply = worker.call(to_json(request), limits.timeout_s, limits.stop);
  if (!reply.answered()) {
    return {failure(reply, "running", limits.timeout_s, OutcomeKind::run_timeout, OutcomeKind::crashed)};
  }
  protocol::throw_if_error(reply.json);
  protocol::MeasureAnswer answer = protocol::measure_answer_from_json(reply.json);
  if (may_have_spoiled_device(answer.outcome.kind)) worker.replace();
  return answer;
}

}  // namespace warpwright
