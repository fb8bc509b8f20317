// mma and ldmatrix.
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::MmaShape;

constexpr int kColumns = 8, kRows = 8, kPairs = 8;  // of a tile: rows or columns, and pairs of k in its 16 bytes

// A register of all lanes is a tile of 8 rows of 16 bytes: lane 4g + t holds row g, bytes 4t to 4t+3 (of B: column g;
// of C and D: row g, columns 2t and 2t+1 in two registers). PTX ISA, `Matrix Fragments for mma`.
using Tile = const std::byte*;
using Sums = std::array<int32_t, kRows * kColumns>;

// sums[half] = tiles half, half + kHalves... of a by tiles 0, 1... of b. No sum of 32 products leaves 32 bits.
template <int kHalves, int kChunks, typename A, typename B>
void multiply_plain(const Tile* a, const Tile* b, Sums* sums) {
  for (int half = 0; half < kHalves; ++half) {
    for (int i = 0; i < kRows * kColumns; ++i) {
      const int row = i / kColumns, column = i % kColumns;
      int32_t sum = 0;
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const A* x = reinterpret_cast<const A*>(a[half + kHalves * chunk]) + 16 * row;
        const B* y = reinterpret_cast<const B*>(b[chunk]) + 16 * column;
        for (int k = 0; k < 16; ++k) sum += x[k] * y[k];
      }
      sums[half][static_cast<size_t>(i)] = sum;
    }
  }
}

#define WARPWRIGHT_AVX2 __attribute__((target("avx2")))

template <typename T>
WARPWRIGHT_AVX2 inline __m256i widened(__m128i bytes) {
  return std::is_signed_v<T> ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

// Rows of 16 numbers of 16 bits.
template <typename T>
WARPWRIGHT_AVX2 void widen(Tile from, __m256i* to) {
  for (int row = 0; row < kRows; ++row)
    to[row] = widened<T>(_mm_load_si128(reinterpret_cast<const __m128i*>(from) + row));
}

// By pairs of k: the pair of each of 8 columns. A transposition of 8 x 8 pairs.
template <typename T>
WARPWRIGHT_AVX2 void widen_columns(Tile from, __m256i* to) {
  const __m128i* column = reinterpret_cast<const __m128i*>(from);
  __m128i twos[8], fours[8];
  for (int i = 0; i < 4; ++i) {
    twos[i] = _mm_unpacklo_epi16(column[2 * i], column[2 * i + 1]);      // pairs 0 to 3 of two columns
    twos[i + 4] = _mm_unpackhi_epi16(column[2 * i], column[2 * i + 1]);  // pairs 4 to 7
  }
  for (int i = 0; i < 8; i += 2) {
    fours[i] = _mm_unpacklo_epi32(twos[i], twos[i + 1]);
    fours[i + 1] = _mm_unpackhi_epi32(twos[i], twos[i + 1]);
  }
  for (int upper = 0; upper < 2; ++upper) {
    for (int i = 0; i < 2; ++i) {
      const __m128i left = fours[4 * upper + i], right = fours[4 * upper + 2 + i];
      to[4 * upper + 2 * i] = widened<T>(_mm_unpacklo_epi64(left, right));
      to[4 * upper + 2 * i + 1] = widened<T>(_mm_unpackhi_epi64(left, right));
    }
  }
}

template <int kHalves, int kChunks, typename A, typename B>
WARPWRIGHT_AVX2 void multiply_avx2(const Tile* a, const Tile* b, Sums* sums) {
  __m256i rows[kHalves * kChunks][kRows], columns[kChunks][kPairs];
  for (int i = 0; i < kHalves * kChunks; ++i) widen<A>(a[i], rows[i]);
  for (int i = 0; i < kChunks; ++i) widen_columns<B>(b[i], columns[i]);
  for (int half = 0; half < kHalves; ++half) {
    __m256i sum[kRows] = {};
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const auto* pairs = reinterpret_cast<const std::byte*>(rows[half + kHalves * chunk]);
      for (int pair = 0; pair < kPairs; ++pair) {
        for (int row = 0; row < kRows; ++row) {
          int32_t both;
          std::memcpy(&both, pairs + 32 * row + 4 * pair, sizeof both);
          sum[row] = _mm256_add_epi32(sum[row], _mm256_madd_epi16(_mm256_set1_epi32(both), columns[chunk][pair]));
        }
      }
    }
    for (int row = 0; row < kRows; ++row)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums[half].data() + row * kColumns), sum[row]);
  }
}

void need_all_lanes(Warp& warp, const Op& op, uint32_t mask) {
  if (mask == kAllLanes) return;
  raise(OutcomeKind::memory_fault,
        fmt::format("{} of the 32 lanes of the warp take part; all must", __builtin_popcount(mask)), warp, op,
        __builtin_ctz(~mask));
}

int32_t finished(int32_t product, int32_t c, bool saturate) {
  const int64_t sum = int64_t{product} + c;
  return static_cast<int32_t>(saturate ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
}

// `kHalves` of 8 rows, `kChunks` of 16 k.
template <int kHalves, int kChunks, typename A, typename B>
void mma(Warp& warp, const Op& op, uint32_t mask) {
  need_all_lanes(warp, op, mask);
  static const auto multiply = __builtin_cpu_supports("avx2") != 0 ? &multiply_avx2<kHalves, kChunks, A, B>
                                                                   : &multiply_plain<kHalves, kChunks, A, B>;
  constexpr size_t kTiles = size_t{kHalves} * kChunks;
  std::array<Tile, kTiles + kChunks> tiles;
  for (size_t i = 0; i < tiles.size(); ++i) tiles[i] = lanes<std::byte>(warp, op.s[i]);
  alignas(64) std::array<Sums, kHalves> sums;
  multiply(tiles.data(), tiles.data() + kTiles, sums.data());
  const bool saturate = op.instruction->saturate;
  for (size_t i = 0; i < 2 * size_t{kHalves}; ++i) {
    int32_t* to = sums[i / 2].data() + i % 2;
    const int32_t* c = lanes<int32_t>(warp, op.s[kTiles + kChunks + i]);
    for (size_t l = 0; l < kLanes; ++l) to[2 * l] = finished(to[2 * l], c[l], saturate);
  }
  for (size_t i = 0; i < 2 * size_t{kHalves}; ++i) {
    const int32_t* from = sums[i / 2].data() + i % 2;
    int32_t* d = lanes<int32_t>(warp, op.d[i]);
    for (size_t l = 0; l < kLanes; ++l) d[l] = from[2 * l];
  }
}

template <typename A, typename B>
Handler mma_of(MmaShape shape) {
  if (shape == MmaShape::m8n8k16) return &mma<1, 1, A, B>;
  return shape == MmaShape::m16n8k16 ? &mma<2, 1, A, B> : &mma<2, 2, A, B>;
}

// Rows of 16 bytes at the addresses of lanes 8m to 8m+7 are matrix m.
void load_matrices(Warp& warp, const Op& op, uint32_t mask) {
  need_all_lanes(warp, op, mask);
  const int count = op.instruction->vector;
  uint64_t at[kLanes];
  addresses(warp, op, at);
  alignas(64) std::array<std::array<uint16_t, 64>, 4> matrices;
  for (int l = 0; l < 8 * count; ++l) {
    std::memcpy(matrices[static_cast<size_t>(l / 8)].data() + 8 * (l % 8), resolve(warp, op, at[l], l, 16), 16);
  }
  for (size_t m = 0; m < static_cast<size_t>(count); ++m) {
    const uint16_t* from = matrices[m].data();
    uint32_t* d = lanes<uint32_t>(warp, op.d[m]);
    if (!op.instruction->transposed) {
      std::memcpy(d, from, 128);
      continue;
    }
    for (int l = 0; l < kLanes; ++l) {
      const int row = l % 4 * 2, column = l / 4;
      d[l] = from[row * 8 + column] | static_cast<uint32_t>(from[(row + 1) * 8 + column]) << 16;
    }
  }
}

}  // namespace

Handlers matrix_handlers(const ptx::Instruction& in) {
  if (in.opcode == ptx::Opcode::ldmatrix) return {&load_matrices, &load_matrices};
  if (in.opcode != ptx::Opcode::mma) return {};
  const bool a = ptx::is_signed(in.source_type), b = ptx::is_signed(in.second_type);
  const Handler run = a ? (b ? mma_of<int8_t, int8_t>(in.mma_shape) : mma_of<int8_t, uint8_t>(in.mma_shape))
                        : (b ? mma_of<uint8_t, int8_t>(in.mma_shape) : mma_of<uint8_t, uint8_t>(in.mma_shape));
  return {run, run};
}

}  // namespace warpwright::virtual_gpu
