// warpwright devices: what --device takes here.
#include <fmt/core.h>

#include <memory>

#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/json.h"
#include "src/core/json_text.h"
#include "src/device/device.h"

namespace warpwright {
namespace {

struct Options {
  std::string device;
  bool json = false;
};

/// All devices, or the one that is asked for.
std::vector<DeviceListing> listings_of(const Options& options) {
  if (options.device.empty()) return list_devices();
  const Target target = target_of_device(options.device);
  return {{options.device, target.device_name, target}};
}

int devices(const Options& options) {
  const std::vector<DeviceListing> listings = listings_of(options);
  if (options.json) {
    Json list = Json::array();
    for (const DeviceListing& listing : listings) {
      list.push_back({{"name", listing.name},
                      {"description", listing.description},
                      {"arch", listing.target.arch()},
                      {"target", to_json(listing.target)}});
    }
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.devices/1"}, {"devices", list}}));
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
  app.add_option("--device", options->device, "only this one, e.g. cuda:0");
  app.add_flag("--json", options->json, "print JSON; with --device it is what --target FILE.json takes");
  return [options] { return devices(*options); };
}

}  // namespace warpwright
