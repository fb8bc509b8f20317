// Outcomes: names, permanence, medians.
#include "src/core/outcome.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/core/error.h"

namespace warpwright {

namespace {

constexpr std::array<std::pair<OutcomeKind, std::string_view>, 13> kNames{{
    {OutcomeKind::ok, "ok"},
    {OutcomeKind::illegal, "illegal"},
    {OutcomeKind::compile_error, "compile_error"},
    {OutcomeKind::compile_timeout, "compile_timeout"},
    {OutcomeKind::launch_error, "launch_error"},
    {OutcomeKind::memory_fault, "memory_fault"},
    {OutcomeKind::wrong_result, "wrong_result"},
    {OutcomeKind::run_timeout, "run_timeout"},
    {OutcomeKind::crashed, "crashed"},
    {OutcomeKind::out_of_memory, "out_of_memory"},
    {OutcomeKind::device_lost, "device_lost"},
    {OutcomeKind::interrupted, "interrupted"},
    {OutcomeKind::infrastructure, "infrastructure"},
}};

}  // namespace

std::string_view name(OutcomeKind kind) {
  for (const auto& [value, text] : kNames) {
    if (value == kind) return text;
  }
  throw InternalError("unknown outcome");
}

OutcomeKind outcome_kind_from_name(std::string_view text) {
  for (const auto& [value, name] : kNames) {
    if (name == text) return value;
  }
  throw UsageError(fmt::format("'{}' is no outcome", text));
}

bool is_transient(OutcomeKind kind) {
  return kind == OutcomeKind::out_of_memory || kind == OutcomeKind::device_lost || kind == OutcomeKind::interrupted ||
         kind == OutcomeKind::infrastructure;
}

std::string_view name(Evidence evidence) { return evidence == Evidence::silicon ? "silicon" : "virtual"; }

Evidence evidence_from_name(std::string_view text) {
  if (text == "silicon") return Evidence::silicon;
  if (text == "virtual") return Evidence::virtual_device;
  throw UsageError(fmt::format("'{}' is no evidence; known are silicon and virtual", text));
}

double median(std::vector<double> samples) {
  if (samples.empty()) throw InternalError("the median of no samples");
  size_t middle = samples.size() / 2;
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(middle), samples.end());
  if (samples.size() % 2 == 1) return samples[middle];
  double below = *std::max_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(middle));
  return (below + samples[middle]) / 2;
}

double Outcome::median_us() const {
  if (!ok()) throw InternalError(fmt::format("the time of an Outcome that is {}", name(kind)));
  return median(samples_us);
}

}  // namespace warpwright
