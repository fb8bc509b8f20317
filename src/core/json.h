// The JSON type of the project. Objects keep sorted keys, so `dump()` of equal values is equal text.
#pragma once

#include <nlohmann/json.hpp>

namespace warpwright {

using Json = nlohmann::json;

}  // namespace warpwright
