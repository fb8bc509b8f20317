// The card behind a device name: what it is called among processes, and the state that it is in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace warpwright {

/// Names the card to all processes of the machine; empty for a virtual device, whose times do not depend on who else
/// uses it. Throws as open_device does.
std::string card_id(std::string_view device_name);

/// State of a card as NVML tells it.
struct CardState {
  double sm_mhz = 0, memory_mhz = 0;      // current clocks; 0: unknown
  double power_w = 0, power_limit_w = 0;  // 0: unknown
  double most_power_limit_w = 0;          // that the limit may be set to; 0: unknown
  int temperature_c = 0;                  // 0: unknown
  std::string throttled_by;               // `power_cap, thermal`; empty: by nothing, or unknown
};

/// nullopt where there is no NVML, or it does not know the card; for a virtual device always.
std::optional<CardState> card_state(std::string_view device_name);

}  // namespace warpwright
