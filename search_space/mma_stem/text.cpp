// The fixed text of an mma_stem kernel. A unit is eight output pixels side by side, the rows of a fragment's word.
#include "search_space/mma_stem/text.h"

namespace warpwright::mma_stem {

const char* const kPlacesText = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_m = warp % kWarpsM, warp_n = warp / kWarpsM;
  const int c_block = blockIdx.x % kCBlocks, first_tile = blockIdx.x / kCBlocks * kTiles;
  const int k_first = c_block * kTileN + warp_n * kWarpN + lane % 4 * kRun;
)";

const char* const kTapsText = R"(
  unsigned taps_at[kFlatTaps ? kGroups : 1];
#pragma unroll
  for (int group = 0; group < (kFlatTaps ? kGroups : 1); ++group) {
    const int own = group * 4 + lane % 4, tap = own < kKernelH * kRowTaps ? own : 0;
    taps_at[group] = (lane / 4 * kStrideW + kLead + tap / kRowTaps * (kDilationH * kPitch) + tap % kRowTaps * kDilationW) * 4;
  }
  auto tap_at = [&](int group) -> unsigned {
    if constexpr (kFlatTaps) return taps_at[group];
    return taps_at[0] + (group / kRowGroups * (kDilationH * kPitch) + group % kRowGroups * (4 * kDilationW)) * 4;
  };
)";

const char* const kPatchPlacesText = R"(
  auto for_patch = [&](int tile, auto what) {
    const int h = tile / kWBlocks % kHBlocks * (kTileH * kStrideH) - kPadTop;
    const int w = tile % kWBlocks * (kTileW * kStrideW) - (kPadLeft + kLead);
    const int image = tile / (kWBlocks * kHBlocks);
#pragma unroll
    for (int i = 0; i < kPatchLoads; ++i) {
      const int vector = threadIdx.x + i * kThreads;
      const int row = h + vector / kRowVectors, column = w + vector % kRowVectors * kVector;
      const long long pixel = (image * kH + row) * kW + column;
      const bool valid = (kPatchVectors % kThreads == 0 || vector < kPatchVectors) &
                         (static_cast<unsigned>(row) < kH) & (static_cast<unsigned>(column) < kW);
      what(i, vector, global_address(x) + pixel * 4, valid);
    }
  };
  auto patch_to = [&](int vector) { return (vector / kRowVectors * kPitch + vector % kRowVectors * kVector) * 4; };
)";

const char* const kAsyncPatchText = R"(
  auto begin_patch = [&](int tile, unsigned stage) {
    for_patch(tile, [&](int, int vector, unsigned long long from, bool valid) {
      if (kPatchVectors % kThreads == 0 || vector < kPatchVectors) {
        const unsigned to = shared_address(smem) + stage + patch_to(vector);
        if constexpr (kNeedsFill) {
          copy_or_fill<kVector * 4>(to, from, valid, fill);
        } else {
          copy_async<kVector * 4>(to, from, valid);
        }
      }
    });
  };
  auto end_patch = [](unsigned) { commit_copies(); };
  auto await_patch = [] { wait_copies<0>(); };
)";

const char* const kHeldPatchText = R"(
  int patch_held[kPatchLoads][kVector];
  auto begin_patch = [&](int tile, unsigned) {
    for_patch(tile, [&](int i, int, unsigned long long from, bool valid) {
#pragma unroll
      for (int j = 0; j < kVector; ++j) patch_held[i][j] = fill;
      load_words(patch_held[i], from, valid);
    });
  };
  auto end_patch = [&](unsigned stage) {
#pragma unroll
    for (int i = 0; i < kPatchLoads; ++i) {
      const int vector = threadIdx.x + i * kThreads;
      if (kPatchVectors % kThreads == 0 || vector < kPatchVectors) {
        unsigned char* const to = smem + (stage + patch_to(vector));
        if constexpr (kVector == 4) {
          *reinterpret_cast<int4*>(to) =
              make_int4(patch_held[i][0], patch_held[i][1], patch_held[i][2], patch_held[i][3]);
        } else if constexpr (kVector == 2) {
          *reinterpret_cast<int2*>(to) = make_int2(patch_held[i][0], patch_held[i][1]);
        } else {
          *reinterpret_cast<int*>(to) = patch_held[i][0];
        }
      }
    }
  };
  auto await_patch = [] {};
)";

const char* const kAsyncWeightsText = R"(
#pragma unroll 4
  for (int vector = threadIdx.x; vector < kWeightBytes / 16; vector += kThreads) {
    copy_async<16>(shared_address(smem) + kSmemWeightsAt + vector * 16,
                   global_address(weights) + (c_block * kWeightBytes + vector * 16));
  }
)";

const char* const kCopyWeightsText = R"(
#pragma unroll 4
  for (int vector = threadIdx.x; vector < kWeightBytes / 16; vector += kThreads) {
    reinterpret_cast<int4*>(smem + kSmemWeightsAt)[vector] =
        reinterpret_cast<const int4*>(weights)[c_block * (kWeightBytes / 16) + vector];
  }
)";

const char* const kSharedWeightsText = R"(
  auto weights_at = [&] {
    return smem + pinned(kSmemWeightsAt + warp_n * (kWeightBytes / kWarpsN) + lane * 16);
  };
)";

const char* const kGlobalWeightsText = R"(
  auto weights_at = [&] {
    return weights + pinned((c_block * kWarpsN + warp_n) * (kWeightBytes / kWarpsN) + lane * 16);
  };
)";

const char* const kReadWeightsText = R"(
  auto read_b = [&](unsigned (&to)[kColumnTiles][2], const unsigned char* from, int step) {
#pragma unroll
    for (int pair = 0; pair < kColumnTiles / 2; ++pair) {
      const int4 four = reinterpret_cast<const int4*>(from)[(step * (kColumnTiles / 2) + pair) * 32];
      to[2 * pair][0] = four.x, to[2 * pair][1] = four.y, to[2 * pair + 1][0] = four.z, to[2 * pair + 1][1] = four.w;
    }
  };
)";

const char* const kHeldWeightsText = R"(
  const unsigned char* const held_from = weights_at();
  unsigned weights_held[kSteps][kColumnTiles][2];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) read_b(weights_held[step], held_from, step);
  auto load_b = [&](unsigned (&to)[kColumnTiles][2], const unsigned char*, int step) {
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j) to[j][0] = weights_held[step][j][0], to[j][1] = weights_held[step][j][1];
  };
)";

const char* const kMultiplyText = R"(
  auto multiply_pass = [&](int (&sums)[kRowTiles][kColumnTiles][4], int (&x_sums)[kRowTiles][4], unsigned pixels_at) {
    const unsigned char* const weights_from = weights_at();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      unsigned b[kColumnTiles][2];
      load_b(b, weights_from, step);
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
        unsigned a[4] = {};
#pragma unroll
        for (int word = 0; word < 4; ++word) {
          const int group = step * 2 + word / 2, unit = i * 2 + word % 2;
          if (group < kGroups) {
            a[word] = *reinterpret_cast<const unsigned*>(
                smem + (pixels_at + tap_at(group)) +
                (unit / kRowUnits * (kStrideH * kPitch) + unit % kRowUnits * (8 * kStrideW)) * 4);
          }
        }
        if constexpr (kWeightZeroPoint) {
          const unsigned ones[2] = {0x01010101u, 0x01010101u};
          multiply(x_sums[i], a, ones);
        }
#pragma unroll
        for (int j = 0; j < kColumnTiles; ++j) multiply(sums[i][j], a, b[j]);
      }
    }
  };
)";

const char* const kStoreText = R"(
  auto store_pass = [&](const int (&sums)[kRowTiles][kColumnTiles][4], const int (&x_sums)[kRowTiles][4], int p_first,
                        int q_first, int image) {
#pragma unroll
    for (int c = 0; c < 2 * kColumnTiles; c += kStoreLanes) {
      const int k = k_first + c / kRun * (4 * kRun) + c % kRun;
      if (kCoveredLanes % kTileN == 0 || k < kCoveredLanes) {
        int bias_of[kStoreLanes], zero_point_of[kStoreLanes] = {};
        float multiplier_of[kStoreLanes];
        load_bias(bias_of, k);
        load_multipliers(multiplier_of, k);
        load_zero_points(zero_point_of, k);
#pragma unroll
        for (int unit = 0; unit < 2 * kRowTiles; ++unit) {
          const int p = p_first + unit / kRowUnits, q = q_first + unit % kRowUnits * 8;
          if ((kP % kTileH == 0 || p < kP) && (kQ % kTileW == 0 || q < kQ)) {
            int total[kStoreLanes];
#pragma unroll
            for (int i = 0; i < kStoreLanes; ++i) {
              total[i] = sums[unit / 2][(c + i) / 2][unit % 2 * 2 + (c + i) % 2] -
                         zero_point_of[i] * x_sums[unit / 2][unit % 2 * 2];
            }
            finish(total, bias_of, multiplier_of, (image * kP + p) * kQ + q, k);
          }
        }
      }
    }
  };
)";

const char* const kTilesText = R"(
  unsigned stage = 0;
#pragma unroll 1
  for (int tile = first_tile;;) {
    await_patch();
    __syncthreads();
    const int next = tile + 1;
    const bool more = kTiles > 1 && next < first_tile + kTiles && next < kAllTiles;
    if (more) begin_patch(next, kPatchBytes - stage);
#pragma unroll 1
    for (int pass = 0; pass < kPasses; ++pass) {
      const int unit = (warp_m * kPasses + pass) * (2 * kRowTiles);
      const int unit_h = unit / kRowUnits, unit_w = unit % kRowUnits * 8;
      int sums[kRowTiles][kColumnTiles][4] = {}, x_sums[kRowTiles][4] = {};
      multiply_pass(sums, x_sums, stage + (unit_h * (kStrideH * kPitch) + unit_w * kStrideW) * 4);
      store_pass(sums, x_sums, tile / kWBlocks % kHBlocks * kTileH + unit_h, tile % kWBlocks * kTileW + unit_w + lane / 4,
                 tile / (kWBlocks * kHBlocks));
    }
    if (!more) break;
    stage = kPatchBytes - stage;
    end_patch(stage);
    tile = next;
  }
)";

}  // namespace warpwright::mma_stem
