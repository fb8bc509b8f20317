// Counts the reasons why the points of a Workload's spaces are illegal.
#include "search_space/no_legal_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "search_space/kernel_family.h"

namespace warpwright {
namespace {

constexpr int64_t kMostLookedAt = 2000;  // points of a space

/// A reason without its numbers, so that points which break the same constraint count together.
std::string without_numbers(const std::string& reason) {
  std::string text;
  for (const char letter : reason) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit) text += letter;
    if (is_digit && !text.ends_with('#')) text += '#';
  }
  return text;
}

}  // namespace

NoLegalConfig::NoLegalConfig(std::string_view family, const Workload& workload, const Target& target)
    : UsageError(fmt::format("{} has no default for {} on {}", family, workload.summary(), target.name)) {}

std::string why_no_config(const Workload& workload, const Target& target) {
  std::map<std::string, int64_t> reasons;
  int64_t looked_at = 0;
  for (const KernelFamily* family : families_for(workload, target)) {
    const Space space = family->space(workload, target);
    const int64_t stride = std::max<int64_t>(1, space.point_count() / kMostLookedAt);
    for (int64_t index = 0; index < space.point_count(); index += stride, ++looked_at) {
      const auto reason = space.why_illegal(space.point(index));
      if (reason) ++reasons[fmt::format("{}: {}", family->name(), without_numbers(*reason))];
    }
  }
  std::string histogram;
  for (const auto& [reason, count] : reasons) histogram += fmt::format("\n  {} x {}", count, reason);
  return fmt::format("no Config of {} is legal on {}; of {} points looked at:{}", workload.summary(), target.name,
                     looked_at, histogram);
}

}  // namespace warpwright
