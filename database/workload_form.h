// The form of a Workload: what two shapes have in common whose records can serve each other.
#pragma once

#include <string>

namespace warpwright {

struct WorkloadForm {
  std::string key;       // hash; empty when the text is no Workload
  double log2_size = 0;  // of its multiply-adds, or of what it writes
};

/// From the JSON of a Workload: all but extents, strides from pixel to pixel, padding, batch and the number of groups
/// (none, one a channel, or several).
WorkloadForm workload_form(const std::string& workload_json);

}  // namespace warpwright
