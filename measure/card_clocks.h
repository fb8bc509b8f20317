// CardClocks: how fast a card ran while it was timed.
#pragma once

#include <string>

namespace warpwright {

struct CardClocks {
  double sm_mhz = 0, memory_mhz = 0;  // 0: unknown
  std::string throttled_by;           // `power_cap, thermal`; empty: by nothing, or unknown
  bool operator==(const CardClocks&) const = default;
};

}  // namespace warpwright
