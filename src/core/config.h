// Config: one point of a search space, by family, space version and named knobs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/core/json.h"

namespace warpwright {

struct Config {
  std::string family;
  int space_version = 0;
  std::map<std::string, int64_t> knobs;

  /// Throws InternalError when the knob is absent.
  int64_t at(const std::string& knob) const;
  bool operator==(const Config&) const = default;
};

Json to_json(const Config& config);
/// Throws UsageError on missing fields, wrong types or more than 64 knobs.
Config config_from_json(const Json& json);
/// Canonical text: the identity of a Config in databases.
std::string key(const Config& config);
/// For people: `dp4a_gemm tile_m=64 tile_n=32`.
std::string summary(const Config& config);

}  // namespace warpwright
