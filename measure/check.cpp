// The JSON of a Check.
#include "measure/check.h"

#include <array>

#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr std::array<std::string_view, 4> kStates{"ok", "warning", "failed", "skipped"};

}  // namespace

std::string_view name(Check::State state) { return kStates.at(static_cast<size_t>(state)); }

Json to_json(const Check& check) {
  return {{"check", check.name}, {"state", name(check.state)}, {"finding", check.finding}, {"advice", check.advice}};
}

Check check_from_json(const Json& json) {
  const auto state = json.at("state").get<std::string>();
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] != state) continue;
    return {json.at("check").get<std::string>(), static_cast<Check::State>(i), json.at("finding").get<std::string>(),
            json.at("advice").get<std::string>()};
  }
  throw InternalError("a check in the state " + state);
}

}  // namespace warpwright
