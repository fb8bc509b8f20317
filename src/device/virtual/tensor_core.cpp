// mma and ldmatrix.
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::MmaShape;

constexpr int kColumns = 8, kRowsOfHalf = 8, kPairs = 8;  // of 8 rows, 16 bytes of k: pairs of k

// A register of all lanes is a tile of 8 rows of 16 bytes: lane 4g + t holds row g, bytes 4t to 4t+3 (of B: column g;
// of C and D: row g, columns 2t and 2t+1 in two registers). PTX ISA, `Matrix Fragments for mma`.
struct Tiles {
  alignas(64) std::array<int16_t, 128> a[4];                    // [row half + 2 * k half][row * 16 + k], widened
  alignas(64) std::array<int16_t, 2 * kPairs * kColumns> b[2];  // [k half][(pair of k * 8 + column) * 2 + which]
  alignas(64) std::array<int32_t, 64> sums[2];                  // [row half][row * 8 + column]
};

template <typename T>
void widen(const std::byte* from, int16_t* to) {
  const T* bytes = reinterpret_cast<const T*>(from);
  for (int i = 0; i < 128; ++i) to[i] = bytes[i];
}

template <typename T>
void widen_columns(const std::byte* from, int16_t* to) {
  const T* bytes = reinterpret_cast<const T*>(from);
  for (int pair = 0; pair < kPairs; ++pair) {
    for (int n = 0; n < kColumns; ++n) {
      to[(pair * kColumns + n) * 2] = bytes[n * 16 + 2 * pair];
      to[(pair * kColumns + n) * 2 + 1] = bytes[n * 16 + 2 * pair + 1];
    }
  }
}

// sums += 8 rows of a by 8 columns of b, over 16 k. No product or sum of 32 k leaves 32 bits.
void multiply_plain(const int16_t* a, const int16_t* b, int32_t* sums) {
  for (int row = 0; row < kRowsOfHalf; ++row) {
    for (int pair = 0; pair < kPairs; ++pair) {
      const int32_t a0 = a[row * 16 + 2 * pair], a1 = a[row * 16 + 2 * pair + 1];
      const int16_t* columns = b + pair * kColumns * 2;
      for (int n = 0; n < kColumns; ++n) sums[row * kColumns + n] += a0 * columns[2 * n] + a1 * columns[2 * n + 1];
    }
  }
}

__attribute__((target("avx2"))) void multiply_avx2(const int16_t* a, const int16_t* b, int32_t* sums) {
  __m256i sum[kRowsOfHalf];
  for (int row = 0; row < kRowsOfHalf; ++row)
    sum[row] = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + row * kColumns));
  for (int pair = 0; pair < kPairs; ++pair) {
    const __m256i columns = _mm256_load_si256(reinterpret_cast<const __m256i*>(b + pair * kColumns * 2));
    for (int row = 0; row < kRowsOfHalf; ++row) {
      int32_t both;
      std::memcpy(&both, a + row * 16 + 2 * pair, sizeof both);
      sum[row] = _mm256_add_epi32(sum[row], _mm256_madd_epi16(_mm256_set1_epi32(both), columns));
    }
  }
  for (int row = 0; row < kRowsOfHalf; ++row)
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums + row * kColumns), sum[row]);
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
  static const auto multiply = __builtin_cpu_supports("avx2") != 0 ? &multiply_avx2 : &multiply_plain;
  Tiles tiles;
  constexpr size_t kA = size_t{kHalves} * kChunks;
  for (size_t i = 0; i < kA; ++i) widen<A>(lanes<std::byte>(warp, op.s[i]), tiles.a[i].data());
  for (size_t i = 0; i < kChunks; ++i) widen_columns<B>(lanes<std::byte>(warp, op.s[kA + i]), tiles.b[i].data());
  for (size_t half = 0; half < kHalves; ++half) {
    tiles.sums[half].fill(0);
    for (size_t chunk = 0; chunk < kChunks; ++chunk) {
      multiply(tiles.a[half + kHalves * chunk].data(), tiles.b[chunk].data(), tiles.sums[half].data());
    }
  }
  const bool saturate = op.instruction->saturate;
  for (size_t half = 0; half < kHalves; ++half) {
    for (size_t odd = 0; odd < 2; ++odd) {
      const int32_t* c = lanes<int32_t>(warp, op.s[kA + kChunks + 2 * half + odd]);
      for (size_t l = 0; l < kLanes; ++l) {
        int32_t& sum = tiles.sums[half][2 * l + odd];
        sum = finished(sum, c[l], saturate);
      }
    }
  }
  for (size_t half = 0; half < kHalves; ++half) {
    for (size_t odd = 0; odd < 2; ++odd) {
      int32_t* d = lanes<int32_t>(warp, op.d[2 * half + odd]);
      for (size_t l = 0; l < kLanes; ++l) d[l] = tiles.sums[half][2 * l + odd];
    }
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
