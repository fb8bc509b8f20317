// Names of the rungs.
#include "src/compile/rung.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr std::array<std::pair<Rung, std::string_view>, 5> kNames{{
    {Rung::exact, "exact"},
    {Rung::arch, "arch"},
    {Rung::near, "near"},
    {Rung::stale, "stale"},
    {Rung::default_config, "default"},
}};

}  // namespace

std::string_view name(Rung rung) {
  for (const auto& [value, text] : kNames) {
    if (value == rung) return text;
  }
  throw InternalError("unknown rung");
}

Rung rung_from_name(std::string_view text) {
  for (const auto& [value, known] : kNames) {
    if (known == text) return value;
  }
  throw UsageError(fmt::format("`{}` is no rung (exact, arch, near, stale, default)", text));
}

}  // namespace warpwright
