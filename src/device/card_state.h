// The card behind a device name: what it is called among processes, and the state that it is in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright {

/// Names the card to all processes of the machine; empty for a virtual device, whose times do not depend on who else
/// uses it. Throws as open_device does.
std::string card_id(std::string_view device_name);

/// State of a card as NVML tells it.
struct CardState {
  double sm_mhz = 0, memory_mhz = 0;         // current clocks; 0: unknown
  double power_w = 0, power_limit_w = 0;     // 0: unknown
  double most_power_limit_w = 0;             // that the limit may be set to; 0: unknown
  int temperature_c = 0;                     // 0: unknown
  std::string throttled_by;                  // `power_cap, thermal`; empty: by nothing, or unknown
  double most_sm_mhz = 0;                    // 0: unknown
  bool are_clocks_set = false;               // by the user, as far as NVML tells
  std::optional<int> index, power_state;     // of nvidia-smi; P0 to P15
  int64_t memory_bytes = 0, free_bytes = 0;  // 0: unknown
};

/// A process that has memory on a card.
struct CardProcess {
  int64_t id = 0;
  std::string name;   // empty: not of this machine's processes as they are seen here
  int64_t bytes = 0;  // 0: unknown
};

/// nullopt where there is no NVML, or it does not know the card; for a virtual device always.
std::optional<CardState> card_state(std::string_view device_name);
/// All but this one; none where NVML does not tell.
std::vector<CardProcess> card_processes(std::string_view device_name);

}  // namespace warpwright
