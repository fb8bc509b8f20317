// Check: one thing that a measurement needs, looked at, and what to do where it is not so.
#pragma once

#include <string>

#include "src/core/json.h"

namespace warpwright {

struct Check {
  enum class State { ok, warning, failed, skipped };  // skipped: what it needs has failed

  std::string name;  // `driver`, `compiler`
  State state = State::ok;
  std::string finding;
  std::string advice;  // what to do; may be empty where all is well
};

std::string_view name(Check::State state);
Json to_json(const Check& check);
/// Throws InternalError for an unknown state.
Check check_from_json(const Json& json);

}  // namespace warpwright
