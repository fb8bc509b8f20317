// NVML, the driver's library for management, opened at run time; all of it is optional.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/device/card_state.h"

namespace warpwright {

/// State of the card with that UUID (`GPU-...`); nullopt where the library, or the card in it, is missing.
std::optional<CardState> nvml_card_state(const std::string& uuid);
/// Those that compute or draw on it, this process left out; none where the library or the card is missing.
std::vector<CardProcess> nvml_card_processes(const std::string& uuid);

/// `power_cap, thermal` of NVML's bits; what is no throttling (idle, clocks that the user set) is left out.
std::string throttle_text(unsigned long long reasons);

}  // namespace warpwright
