// Depth is counted before the parser sees the text.
#include "src/core/json_text.h"

#include <algorithm>

#include "src/core/error.h"

namespace warpwright {
namespace {

/// Levels of brackets, those within strings left out.
int64_t depth_of(std::string_view text) {
  int64_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string) {
      if (letter == '\\') ++i;
      if (letter == '"') in_string = false;
    } else if (letter == '"') {
      in_string = true;
    } else if (letter == '[' || letter == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Json parse_json(std::string_view text) {
  if (depth_of(text) > kMostJsonDepth) throw UsageError("the JSON is nested too deeply");
  return Json::parse(text);
}

Json try_parse_json(std::string_view text) {
  if (depth_of(text) > kMostJsonDepth) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

std::string json_document(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace warpwright
