// The float32 kinds' part of a Workload's canonical JSON and of its summary.
#pragma once

#include <string>

#include "src/core/workload.h"

namespace warpwright {

void add_real_fields(const Workload& workload, Json& json);
void read_real_fields(const Json& json, Workload& workload);
std::string real_summary(const Workload& workload);

/// The window, as conv2d and the pools write it.
std::string window_summary(const Window& window);

}  // namespace warpwright
