// Canonical JSON without extents, hashed.
#include "database/workload_form.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/hash.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

double elements(const Json& tensor) {
  double product = 1;
  for (const Json& extent : tensor.at("nhwc")) product *= extent.get<double>();
  return product;
}

/// Of a product: how many multiply-adds an element of the output takes; else 1.
double depth(const Json& json) {
  const bool is_product = json.contains("weight_dtype") || json.contains("batch");
  if (!is_product) return 1;
  double product = json.at("inputs").at(0).at("nhwc").at(3).get<double>() / json.value("groups", 1.0);
  if (json.contains("window")) {
    for (const Json& taps : json.at("window").at("kernel")) product *= taps.get<double>();
  }
  return product;
}

const char* group_class(const Json& json) {
  const double groups = json.at("groups").get<double>();
  if (groups == 1) return "none";
  return groups == json.at("inputs").at(0).at("nhwc").at(3).get<double>() ? "one a channel" : "several";
}

Json without_extents(Json json) {
  std::vector<Json*> tensors{&json.at("output")};
  for (Json& input : json.at("inputs")) tensors.push_back(&input);
  if (json.contains("groups")) json["groups"] = group_class(json);
  for (Json* tensor : tensors) {
    for (const char* field : {"nhwc", "pixel_stride", "channel_offset"}) tensor->erase(field);
  }
  if (json.contains("window")) json.at("window").erase("pad");
  json.erase("batch");
  if (json.contains("movement")) json["movement"] = json.at("movement").at("axes").size();
  return json;
}

}  // namespace

WorkloadForm workload_form(const std::string& workload_json) {
  try {
    const Json json = try_parse_json(workload_json);
    const double size = elements(json.at("output")) * depth(json);
    if (!std::isfinite(size)) return {};
    return {key_hex(without_extents(json).dump()), std::log2(std::max(1.0, size))};
  } catch (const Json::exception&) {
    return {};  // no Workload, or one of another version
  }
}

}  // namespace warpwright
