// A LaunchProfile as JSON.
#pragma once

#include "src/core/json.h"
#include "src/device/virtual/profile.h"

namespace warpwright {

Json to_json(const LaunchProfile& profile);
LaunchProfile launch_profile_from_json(const Json& json);

}  // namespace warpwright
