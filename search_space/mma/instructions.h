// Tensor-core multiply, ldmatrix and cp.async as device functions: text for kernels, include-free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/core/dtype.h"

namespace warpwright::mma {

/// Depth (of K) of the two instructions.
inline constexpr int64_t kTuringDepth = 16;  // mma.m8n8k16, sm_75 and up
inline constexpr int64_t kAmpereDepth = 32;  // mma.m16n8k32, sm_80 and up

/// `multiply(int (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2])`: sums[16 x 8] += a[16 x 32] * b[8 x 32]^T
/// in wrapping int32, by one m16n8k32 or by four m8n8k16; the fragments are the same. With g = lane / 4, t = lane % 4:
///   a[0] row g, bytes 4t to 4t + 3 of K; a[1] row g + 8; a[2], a[3] the same rows, 16 bytes on
///   b[0] column g, bytes 4t to 4t + 3 of K; b[1] 16 bytes on
///   sums[0], sums[1] row g, columns 2t and 2t + 1; sums[2], sums[3] row g + 8
std::string multiply_source(int64_t depth, DType a, DType b);

/// `load_matrices(unsigned (&to)[1|2|4], unsigned from)`: ldmatrix. Lane 8i + r gives the shared address, a multiple of
/// 16, of row r of matrix i (8 rows of 16 bytes); to[i] becomes bytes 4t to 4t + 3 of row g of matrix i.
/// `shared_address(pointer)`: the address that ldmatrix and cp.async want. `store_words(to, words[1|2|4])`: a store to
/// it. `swizzle<kRowBytes>(row)`: what the index of a 16-byte chunk is xored with in that row of 32, 64 or 128 bytes,
/// so that eight rows of one chunk, and eight chunks of neighbouring rows, lie on different banks. The rows start at a
/// multiple of 128 bytes of shared memory.
std::string_view load_matrices_source();
/// The same on the host, for packing.
constexpr int64_t swizzle(int64_t row_bytes, int64_t row) {
  return row_bytes == 128 ? row % 8 : row_bytes == 64 ? row / 2 % 4 : row / 4 % 2;
}

/// cp.async, sm_80 and up; 16 (past L1), 8 or 4 bytes from global (an address of global_address) to shared memory, both
/// aligned to their size. Where `valid` is 0 nothing is read:
///   `copy_async<kBytes>(unsigned to, unsigned long long from)`
///   `copy_part<kBytes>(to, from, int bytes)`: the first `bytes`, zeros behind them
///   `copy_async<kBytes>(to, from, unsigned valid)`: zeros instead
///   `copy_or_fill<kBytes>(to, from, valid, int fill)`: instead the word `fill`, repeated, by an ordinary store
///   `commit_copies()`, `wait_copies<kPending>()`: all but the last kPending groups of this thread have arrived
/// After wait_copies and a barrier every thread sees what all copied and filled.
std::string_view copy_async_source();

}  // namespace warpwright::mma
