// From the text of --target to a Target.
#include "src/compile/build_target.h"

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"
#include "src/device/device.h"

namespace warpwright {
namespace {

constexpr std::string_view kVirtualPrefix = "virtual:";

/// A Target alone, or what `devices --device D --json` prints.
Target target_file(const std::string& path) {
  const std::string bytes = read_file(path, 1 << 20);
  Json json = try_parse_json(bytes);
  if (json.is_discarded()) throw UsageError(path + ": no JSON");
  if (json.is_object() && json.contains("devices")) {
    const Json devices = json["devices"];
    if (!devices.is_array() || devices.size() != 1 || !devices[0].is_object()) {
      throw UsageError(path + ": one device is wanted; write it with `warpwright devices --device D --json`");
    }
    json = devices[0].value("target", Json());
  }
  try {
    return target_from_json(json);
  } catch (const UsageError& error) {
    throw UsageError(path + ": " + error.what());
  }
}

}  // namespace

BuildTarget build_target(const std::string& text) {
  if (text.starts_with(kVirtualPrefix)) return {target_of_device(text), true};
  if (text == "auto" || text.starts_with("cuda:")) return {target_of_device(text), false};
  if (text.ends_with(".json")) return {target_file(text), false};
  return {target_preset(text), false};
}

std::string text(const BuildTarget& target) {
  return (target.is_virtual ? std::string(kVirtualPrefix) : std::string()) + target.target.name;
}

}  // namespace warpwright
