// Rung: how well a record matches what is built. Best first.
#pragma once

#include <string_view>

namespace warpwright {

enum class Rung {
  exact,           // the same card
  arch,            // another card of the same compute capability
  near,            // another shape of the same form
  stale,           // an older space version, legal today
  default_config,  // the family's default: no record serves
};

std::string_view name(Rung rung);
/// Throws UsageError for an unknown name.
Rung rung_from_name(std::string_view text);

}  // namespace warpwright
