// Measured times of CUTLASS INT8 convolutions, and the Configs of mma_gemm with the same tiles.
#pragma once

#include <string>
#include <vector>

#include "search_space/mma_gemm/mma_gemm.h"
#include "src/core/workload.h"

namespace warpwright {

struct MeasuredTile {
  Workload workload;  // conv2d, int8 to int32
  VendorTile tile{};
  double time_us = 0;

  std::string layer() const { return workload.summary(); }
  /// `128x256x64, 3 stages, 2x4 warps, k32`
  std::string tile_text() const;
};

/// Of a CSV as ../shared/data/int8_conv has it. Throws UsageError for what does not look like one.
std::vector<MeasuredTile> read_measured_tiles(const std::string& csv_path);

}  // namespace warpwright
