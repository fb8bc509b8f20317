// Outcome: what came of one trial. Never a sentinel number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpwright {

enum class OutcomeKind {
  ok,
  // permanent: the Config's own fault
  illegal,
  compile_error,
  compile_timeout,
  launch_error,
  memory_fault,
  wrong_result,
  run_timeout,
  crashed,
  // transient: tried again, never held against the Config
  out_of_memory,
  device_lost,
  interrupted,
  infrastructure,
};

std::string_view name(OutcomeKind kind);
OutcomeKind outcome_kind_from_name(std::string_view text);  // throws UsageError
bool is_transient(OutcomeKind kind);

/// Where a time comes from.
enum class Evidence { silicon, virtual_device };
std::string_view name(Evidence evidence);  // `silicon`, `virtual`
Evidence evidence_from_name(std::string_view text);

struct Outcome {
  OutcomeKind kind = OutcomeKind::infrastructure;
  std::string message;             // first line for people; empty when ok
  std::string log;                 // full compiler or fault log
  std::vector<double> samples_us;  // only when ok
  std::string limited_by;          // of a virtual time: what bound it; else empty

  bool ok() const { return kind == OutcomeKind::ok; }
  /// Throws InternalError unless ok.
  double median_us() const;
};

double median(std::vector<double> samples);

}  // namespace warpwright
