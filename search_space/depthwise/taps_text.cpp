// The fixed text of a depthwise kernel: what it keeps of an input row and of the weights, and how it multiplies them.
#include "search_space/depthwise/text.h"

namespace warpwright::depthwise {

const char* const kMaskedFormsText = R"(
struct Row {
  int words[kInCols][kWords];
};
struct WeightRow {
  int taps[kKernelW][kPart][kWords];
};
)";

const char* const kMaskedTapsText = R"(
  auto load_row = [&](Row& row, int at) { read_row(row.words, at); };
  const unsigned char* const weights_at =
      weights + (part * (kKernelH * kRowVectors) * static_cast<long long>(kPaddedChannels) + c);
  auto load_weights = [&](WeightRow& to, int r) {
#pragma unroll
    for (int s = 0; s < kKernelW; ++s) {
#pragma unroll
      for (int m = 0; m < kPart; ++m) {
        load_constants(to.taps[s][m], weights_at + (r * kRowVectors + s * kPart + m) * kPaddedChannels);
      }
    }
  };
  auto multiply_row = [&](Sums& sums, const Row& row, const WeightRow& of) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
#pragma unroll
      for (int s = 0; s < kKernelW; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int channel = word * 4 + i;
#pragma unroll
          for (int m = 0; m < kPart; ++m) {
            const int tap = of.taps[s][m][word] & (0xff << (8 * i));
#pragma unroll
            for (int w = 0; w < kRunW; ++w) {
              int& sum = sums.of[w][channel * kPart + m];
              sum = dot4(row.words[w * kStrideW + s * kDilationW][word], tap, sum);
            }
          }
          if constexpr (kWeightZeroPoint) {
#pragma unroll
            for (int w = 0; w < kRunW; ++w) {
              int& sum = sums.x[w][channel];
              sum = sum_lanes(row.words[w * kStrideW + s * kDilationW][word], 1 << (8 * i), sum);
            }
          }
        }
      }
    }
  };
)";

const char* const kTransposedFormsText = R"(
// For each channel of a word a word of four pixels.
struct Row {
  int quads[kGroups][kQuads][kWords][4];
};
struct WeightRow {
  int taps[kGroup][kQuads][kPart][kWords][4];
};
__device__ __forceinline__ void transpose(int (&to)[4], int a, int b, int c, int d) {
  const int low = __byte_perm(a, b, 0x5140), low2 = __byte_perm(c, d, 0x5140);
  const int high = __byte_perm(a, b, 0x7362), high2 = __byte_perm(c, d, 0x7362);
  to[0] = __byte_perm(low, low2, 0x5410);
  to[1] = __byte_perm(low, low2, 0x7632);
  to[2] = __byte_perm(high, high2, 0x5410);
  to[3] = __byte_perm(high, high2, 0x7632);
}
)";

const char* const kTransposedTapsText = R"(
  auto load_row = [&](Row& row, int at) {
    int words[kInCols][kWords];
    read_row(words, at);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
          const int first = g * kGroup * kStrideW + quad * 4 * kDilationW;
          int lanes[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int column = first + i * kDilationW;
            const bool used = column < kInCols && is_used_column(column);
            lanes[i] = words[used ? column : 0][word];
          }
          transpose(row.quads[g][quad][word], lanes[0], lanes[1], lanes[2], lanes[3]);
        }
      }
    }
  };
  // Threads side by side read vectors of 16 bytes side by side.
  constexpr int kAcross = kPaddedChannels / kChannels, kRowWords = kGroup * kQuads * kPart * kWords;
  const int4* const weights_at = reinterpret_cast<const int4*>(weights) +
                                 (part * (kKernelH * kRowWords) * static_cast<long long>(kAcross) + c / kChannels);
  auto load_weights = [&](WeightRow& to, int r) {
#pragma unroll
    for (int w = 0; w < kGroup; ++w) {
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
#pragma unroll
        for (int m = 0; m < kPart; ++m) {
#pragma unroll
          for (int word = 0; word < kWords; ++word) {
            const int vector = r * kRowWords + ((w * kQuads + quad) * kPart + m) * kWords + word;
            load_constants(to.taps[w][quad][m][word], weights_at + vector * kAcross);
          }
        }
      }
    }
  };
  auto multiply_row = [&](Sums& sums, const Row& row, const WeightRow& of) {
#pragma unroll
    for (int quad = 0; quad < kQuads; ++quad) {
#pragma unroll
      for (int word = 0; word < kWords; ++word) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int channel = word * 4 + i;
#pragma unroll
          for (int g = 0; g < kGroups; ++g) {
            const int pixels = row.quads[g][quad][word][i];
#pragma unroll
            for (int w = 0; w < kGroup && g * kGroup + w < kRunW; ++w) {
#pragma unroll
              for (int m = 0; m < kPart; ++m) {
                int& sum = sums.of[g * kGroup + w][channel * kPart + m];
                sum = dot4(pixels, of.taps[w][quad][m][word][i], sum);
              }
            }
            if constexpr (kWeightZeroPoint) sums.x[g][channel] = sum4(pixels, sums.x[g][channel]);
          }
        }
      }
    }
  };
)";

}  // namespace warpwright::depthwise
