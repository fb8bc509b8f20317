// Look-up and type of a field.
#include "src/core/json_fields.h"

#include <fmt/core.h>

#include <limits>

#include "src/core/error.h"

namespace warpwright {

const Json& field(const Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (found == json.end()) throw UsageError(fmt::format("the field `{}` is missing", name));
  return *found;
}

std::string text_field(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_string()) throw UsageError(fmt::format("the field `{}` is no text", name));
  return value.get<std::string>();
}

int64_t integer_field(const Json& json, const char* name) {
  const Json& value = field(json, name);
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= std::numeric_limits<int64_t>::max());
  if (!fits) throw UsageError(fmt::format("the field `{}` is no whole number", name));
  return value.get<int64_t>();
}

int64_t count_field(const Json& json, const char* name) {
  const int64_t count = integer_field(json, name);
  if (count < 0) throw UsageError(fmt::format("the field `{}` is negative", name));
  return count;
}

double real_field(const Json& json, const char* name) { return real_value(field(json, name), name); }

double real_value(const Json& value, const char* name) {
  if (!value.is_number()) throw UsageError(fmt::format("the field `{}` is no number", name));
  return value.get<double>();
}

std::string reason_of(const Json::exception& error) {
  const std::string text = error.what();
  const size_t end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace warpwright
