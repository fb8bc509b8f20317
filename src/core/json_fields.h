// Fields of JSON objects that come from outside, by name. What is missing or of another type is a UsageError that names
// the field.
#pragma once

#include <string>

#include "src/core/json.h"

namespace warpwright {

/// Throws also when `json` is no object.
const Json& field(const Json& json, const char* name);
std::string text_field(const Json& json, const char* name);
int64_t integer_field(const Json& json, const char* name);
/// From 0 up.
int64_t count_field(const Json& json, const char* name);
double real_field(const Json& json, const char* name);

/// The value of a field that is a number.
double real_value(const Json& value, const char* name);

/// What an exception of the JSON library says, without its own numbering.
std::string reason_of(const Json::exception& error);

}  // namespace warpwright
