// Launch shapes and argument lists as JSON, checked on the way in.
#include "src/core/kernel.h"

#include <fmt/core.h>

#include "src/core/error.h"

namespace warpwright {

namespace {

constexpr std::array<std::pair<KernelArgument::Role, const char*>, 6> kRoles{{
    {KernelArgument::Role::input, "input"},
    {KernelArgument::Role::output, "output"},
    {KernelArgument::Role::constant, "constant"},
    {KernelArgument::Role::scalar, "scalar"},
    {KernelArgument::Role::workspace, "workspace"},
    {KernelArgument::Role::counters, "counters"},
}};

const char* role_name(KernelArgument::Role role) {
  for (const auto& [value, text] : kRoles) {
    if (value == role) return text;
  }
  throw InternalError("unknown argument role");
}

KernelArgument::Role role_from_name(const std::string& name) {
  for (const auto& [value, text] : kRoles) {
    if (name == text) return value;
  }
  throw UsageError(fmt::format("'{}' is no role of a kernel argument", name));
}

/// Absent for the roles that have none, so that their JSON is what it was before there was scratch memory.
int64_t bytes_from_json(const Json& json, KernelArgument::Role role) {
  if (!is_scratch(role)) {
    if (json.contains("bytes")) throw UsageError("only scratch memory has bytes");
    return 0;
  }
  const Json bytes = json.value("bytes", Json());
  if (!bytes.is_number_integer()) throw UsageError("scratch memory without bytes");
  const int64_t value = bytes.get<int64_t>();
  if (value < 4 || value > kMostScratchBytes || value % 4 != 0) {
    throw UsageError(fmt::format("scratch memory of {} bytes", value));
  }
  return value;
}

std::array<uint32_t, 3> extents_from_json(const Json& json, const char* field) {
  if (!json.contains(field) || !json[field].is_array() || json[field].size() != 3) {
    throw UsageError(fmt::format("launch field '{}' must be three integers", field));
  }
  std::array<uint32_t, 3> extents{};
  for (size_t i = 0; i < 3; ++i) {
    const Json& item = json[field][i];
    if (!item.is_number_integer() || item.get<int64_t>() < 1 || item.get<int64_t>() > 2147483647) {
      throw UsageError(fmt::format("launch field '{}' is out of range", field));
    }
    extents[i] = item.get<uint32_t>();
  }
  return extents;
}

}  // namespace

Json to_json(const LaunchShape& launch) {
  return {{"grid", launch.grid}, {"block", launch.block}, {"dynamic_smem_bytes", launch.dynamic_smem_bytes}};
}

LaunchShape launch_shape_from_json(const Json& json) {
  if (!json.is_object()) throw UsageError("a launch shape must be an object");
  LaunchShape launch;
  launch.grid = extents_from_json(json, "grid");
  launch.block = extents_from_json(json, "block");
  const Json smem = json.value("dynamic_smem_bytes", Json());
  if (!smem.is_number_integer() || smem.get<int64_t>() < 0 || smem.get<int64_t>() > 1 << 20) {
    throw UsageError("launch field 'dynamic_smem_bytes' is out of range");
  }
  launch.dynamic_smem_bytes = smem.get<uint32_t>();
  return launch;
}

Json to_json(const std::vector<KernelArgument>& arguments) {
  Json list = Json::array();
  for (const KernelArgument& argument : arguments) {
    list.push_back({{"role", role_name(argument.role)},
                    {"index", argument.index},
                    {"name", argument.name},
                    {"dtype", std::string(name(argument.dtype))}});
    if (is_scratch(argument.role)) list.back()["bytes"] = argument.bytes;
  }
  return list;
}

std::vector<KernelArgument> arguments_from_json(const Json& json) {
  if (!json.is_array() || json.size() > 64) throw UsageError("kernel arguments must be a list of at most 64");
  std::vector<KernelArgument> arguments;
  for (const Json& item : json) {
    if (!item.is_object() || !item.contains("role") || !item["role"].is_string() || !item.contains("index") ||
        !item["index"].is_number_integer() || !item.contains("name") || !item["name"].is_string() ||
        !item.contains("dtype") || !item["dtype"].is_string()) {
      throw UsageError("a kernel argument must have role, index, name and dtype");
    }
    KernelArgument argument;
    argument.role = role_from_name(item["role"].get<std::string>());
    argument.index = item["index"].get<int>();
    argument.name = item["name"].get<std::string>();
    argument.dtype = dtype_from_name(item["dtype"].get<std::string>());
    argument.bytes = bytes_from_json(item, argument.role);
    arguments.push_back(argument);
  }
  return arguments;
}

}  // namespace warpwright
