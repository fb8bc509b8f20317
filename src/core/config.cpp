// Configs as JSON and text.
#include "src/core/config.h"

#include <fmt/core.h>

#include "src/core/error.h"

namespace warpwright {

namespace {
constexpr size_t kMostKnobs = 64;
}

int64_t Config::at(const std::string& knob) const {
  auto found = knobs.find(knob);
  if (found == knobs.end()) throw InternalError(fmt::format("Config of {} has no knob '{}'", family, knob));
  return found->second;
}

Json to_json(const Config& config) {
  return {{"family", config.family}, {"space_version", config.space_version}, {"knobs", config.knobs}};
}

Config config_from_json(const Json& json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("family") || !json.contains("space_version") ||
      !json.contains("knobs") || !json["family"].is_string() || !json["space_version"].is_number_integer() ||
      !json["knobs"].is_object()) {
    throw UsageError("a Config is an object of family (text), space_version (integer) and knobs (object)");
  }
  if (json["knobs"].size() > kMostKnobs) throw UsageError(fmt::format("a Config has more than {} knobs", kMostKnobs));
  Config config;
  config.family = json["family"].get<std::string>();
  config.space_version = json["space_version"].get<int>();
  for (const auto& [knob, value] : json["knobs"].items()) {
    if (!value.is_number_integer()) throw UsageError(fmt::format("knob '{}' of a Config is no integer", knob));
    config.knobs[knob] = value.get<int64_t>();
  }
  return config;
}

std::string key(const Config& config) { return to_json(config).dump(); }

std::string summary(const Config& config) {
  std::string text = config.family;
  for (const auto& [knob, value] : config.knobs) text += fmt::format(" {}={}", knob, value);
  return text;
}

}  // namespace warpwright
