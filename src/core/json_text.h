// JSON from outside and JSON for outside: text that may be hostile, and strings that may be no UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "src/core/json.h"

namespace warpwright {

/// Deeper nesting is refused: values are copied and written by recursion.
inline constexpr int kMostJsonDepth = 64;

/// As Json::parse; throws UsageError when nested deeper than kMostJsonDepth.
Json parse_json(std::string_view text);
/// As parse_json, but a discarded value for what is no JSON or too deep.
Json try_parse_json(std::string_view text);

/// Indented text for users; what is no UTF-8 is replaced.
std::string json_document(const Json& json);

}  // namespace warpwright
