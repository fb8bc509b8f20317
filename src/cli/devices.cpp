// warpwright devices: what --device takes here.
#include <fmt/core.h>

#include <memory>

#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/json.h"
#include "src/device/device.h"

namespace warpwright {
namespace {

struct Options {
  bool json = false;
};

int devices(const Options& options) {
  const std::vector<DeviceListing> listings = list_devices();
  if (options.json) {
    Json list = Json::array();
    for (const DeviceListing& listing : listings) {
      list.push_back({{"name", listing.name},
                      {"description", listing.description},
                      {"arch", listing.target.arch()},
                      {"target", to_json(listing.target)}});
    }
    fmt::print("{}\n", Json{{"schema", "warpwright.devices/1"}, {"devices", list}}.dump(2));
    return kDone;
  }
  Table table({"device", "card", "arch", ">SMs", ">smem/SM KB", ">L2 MB", ">GB/s", "what"});
  for (const DeviceListing& listing : listings) {
    const Target& target = listing.target;
    table.add({listing.name, target.device_name, target.arch(), std::to_string(target.sm_count),
               std::to_string(target.smem_per_sm_bytes / 1024), std::to_string(target.l2_bytes >> 20),
               fmt::format("{:.0f}", target.memory_gb_per_s), listing.description});
  }
  table.print();
  return kDone;
}

}  // namespace

VerbBody devices_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--json", options->json, "print JSON; one entry's `target` is what --target FILE.json takes");
  return [options] { return devices(*options); };
}

}  // namespace warpwright
