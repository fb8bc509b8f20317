// From the sums of a warp's tile to the output: slices and splits of K, direct and staged stores.
#include "search_space/mma/warp_tile.h"

namespace warpwright::mma {

std::string_view subtract_zero_points_source() {
  return R"(
#pragma unroll
  for (int block = 0; block < kWarpN / (4 * kRun); ++block) {
    int zero_points[kRun];
    load_run(zero_points, load_zero_points, packed_column + warp_n * kWarpN + (block * kRun + lane % 4) * 4);
#pragma unroll
    for (int i = 0; i < kWarpM / 8; ++i) {
#pragma unroll
      for (int k = 0; k < kRun; ++k) {
        sums[i / 2][block * (kRun / 2) + k / 2][i % 2 * 2 + k % 2] -= zero_points[k] * row_sums[i / 2][i % 2 * 2];
      }
    }
  }
)";
}

std::string_view add_slices_source() {
  return R"(
  __syncthreads();
  {
    constexpr int kQuads = kWarpM / 16 * (kWarpN / 8), kWarps = kWarpsM * kWarpsN;
    int4* const parts = reinterpret_cast<int4*>(smem) + (warp_n * kWarpsM + warp_m) * (kQuads * 32) + lane;
    if (slice > 0) {
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        const int (&from)[4] = sums[q / (kWarpN / 8)][q % (kWarpN / 8)];
        parts[(slice - 1) * (kWarps * kQuads * 32) + q * 32] = make_int4(from[0], from[1], from[2], from[3]);
      }
    }
    __syncthreads();
    if (slice == 0) {
#pragma unroll 1
      for (int s = 0; s < kSlices - 1; ++s) {
#pragma unroll
        for (int q = 0; q < kQuads; ++q) {
          const int4 part = parts[s * (kWarps * kQuads * 32) + q * 32];
          int (&to)[4] = sums[q / (kWarpN / 8)][q % (kWarpN / 8)];
          to[0] += part.x, to[1] += part.y, to[2] += part.z, to[3] += part.w;
        }
      }
    }
  }
)";
}

std::string_view add_splits_source() {
  return R"(
  {
    constexpr int kQuads = kWarpM / 16 * (kWarpN / 8), kPart = kWarpsM * kWarpsN * kQuads * 32;
    int4* const parts = reinterpret_cast<int4*>(workspace) + static_cast<long long>(tile_index) * (kSplits * kPart) +
                        (warp_n * kWarpsM + warp_m) * (kQuads * 32) + lane;
    if (slice == 0) {
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        const int (&from)[4] = sums[q / (kWarpN / 8)][q % (kWarpN / 8)];
        parts[blockIdx.z * kPart + q * 32] = make_int4(from[0], from[1], from[2], from[3]);
      }
    }
    if (!comes_last(counters + tile_index, kSplits, smem)) return;
    if (slice == 0) {
#pragma unroll 1
      for (unsigned s = 0; s < kSplits; ++s) {
        if (s == blockIdx.z) continue;
#pragma unroll
        for (int q = 0; q < kQuads; ++q) {
          int (&to)[4] = sums[q / (kWarpN / 8)][q % (kWarpN / 8)];
          int part[4];
          load_volatile(part, reinterpret_cast<const int*>(parts + s * kPart + q * 32));
          to[0] += part[0], to[1] += part[1], to[2] += part[2], to[3] += part[3];
        }
      }
    }
  }
)";
}

std::string_view direct_epilogue_source() {
  return R"(
  if (slice == 0) {
#pragma unroll
    for (int block = 0; block < kWarpN / (4 * kRun); ++block) {
      const int constants = packed_column + warp_n * kWarpN + (block * kRun + lane % 4) * 4;
      int biases[kRun];
      float multipliers[kRun];
      load_run(biases, load_bias, constants);
      load_run(multipliers, load_multipliers, constants);
#pragma unroll
      for (int e = 0; e < kRun; e += kStoreLanes) {
        const int column = warp_n * kWarpN + (block * 4 + lane % 4) * kRun + e;
        int bias_of[kStoreLanes];
        float multiplier_of[kStoreLanes];
#pragma unroll
        for (int k = 0; k < kStoreLanes; ++k) bias_of[k] = biases[e + k], multiplier_of[k] = multipliers[e + k];
#pragma unroll
        for (int i = 0; i < kWarpM / 8; ++i) {
          const int m = m_tile * kTileM + warp_m * kWarpM + i * 8 + lane / 4;
          if (m < kRows && n_tile * kTileN + column < kStoredColumns) {
            int total[kStoreLanes];
#pragma unroll
            for (int k = 0; k < kStoreLanes; ++k) {
              total[k] = sums[i / 2][block * (kRun / 2) + (e + k) / 2][i % 2 * 2 + (e + k) % 2];
            }
            finish(total, bias_of, multiplier_of, first_pixel + m, first_channel + column);
          }
        }
      }
    }
  }
)";
}

std::string staged_epilogue_source(bool has_residual) {
  std::string text = "  {\n    __syncthreads();\n";
  if (has_residual) {
    text += R"(    constexpr int kResidualUnits = kTileN / kResidualLanes;
#pragma unroll 4
    for (int unit = threadIdx.x; unit < kTileM * kResidualUnits; unit += kThreads) {
      const int row = unit / kResidualUnits, column = unit % kResidualUnits * kResidualLanes;
      const int m = m_tile * kTileM + row, k = first_channel + column;
      const bool valid = m < kRows && n_tile * kTileN + column < kStoredColumns && k < kK;
      copy_vector<kResidualLanes>(smem + row * kStagedStride + column, residual_at(first_pixel + m, k), valid);
    }
    __syncthreads();
)";
  }
  text += R"(    if (slice == 0) {
#pragma unroll
      for (int block = 0; block < kWarpN / (4 * kRun); ++block) {
        const int column = warp_n * kWarpN + (block * 4 + lane % 4) * kRun;
        int bias_of[kRun];
        float multiplier_of[kRun];
        load_run(bias_of, load_bias, packed_column + warp_n * kWarpN + (block * kRun + lane % 4) * 4);
        load_run(multiplier_of, load_multipliers, packed_column + warp_n * kWarpN + (block * kRun + lane % 4) * 4);
#pragma unroll
        for (int i = 0; i < kWarpM / 8; ++i) {
          unsigned char* const at = smem + (warp_m * kWarpM + i * 8 + lane / 4) * kStagedStride + column;
          int total[kRun], residual_of[kRun] = {}, outputs[kRun];
)";
  if (has_residual) text += "          load_codes<kResidualSigned>(residual_of, at);\n";
  text += R"(#pragma unroll
          for (int k = 0; k < kRun; ++k) total[k] = sums[i / 2][block * (kRun / 2) + k / 2][i % 2 * 2 + k % 2];
          outputs_of(outputs, total, bias_of, multiplier_of, residual_of, first_channel + column);
          store_codes(at, outputs);
        }
      }
    }
    __syncthreads();
    constexpr int kRowUnits = kTileN / kStoreLanes;
#pragma unroll 4
    for (int unit = threadIdx.x; unit < kTileM * kRowUnits; unit += kThreads) {
      const int row = unit / kRowUnits, column = unit % kRowUnits * kStoreLanes;
      const int m = m_tile * kTileM + row;
      if (m < kRows && n_tile * kTileN + column < kStoredColumns) {
        copy_vector<kStoreLanes>(output_at(first_pixel + m, first_channel + column),
                                 smem + row * kStagedStride + column, true);
      }
    }
  }
)";
  return text;
}

}  // namespace warpwright::mma
