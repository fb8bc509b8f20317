// Pieces of CUDA C++ that several families share. All of it is include-free.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/dtype.h"
#include "src/core/kernel.h"
#include "src/core/target.h"

namespace warpwright {

/// A block of `constexpr int kNAME = VALUE;` lines (long long where int does not hold the value).
class SourceConstants {
 public:
  SourceConstants& add(std::string_view name, int64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// dot4(a, b, c) with the signs of the two operands; sum_lanes(a, ones, c), the sum of the bytes of an x word where
/// `ones` has a 1; sum4(a, c), of all four.
std::string dot_source(DType x, DType weights);

/// load_words(int (&to)[1|2|4], address, valid): leaves `to` alone unless valid. No branch. And the same for one byte,
/// pinned(value) and global_address(pointer).
std::string_view guarded_load_source();

/// Sets bit r * kKernelW + s of NAME[i] where the tap (r, s) of the position with the first tap at (h, w) lies inside
/// the image of kH x kW; for at most 32 taps.
std::string tap_masks_source(std::string_view name);

/// Vectors of codes and of 4-byte values: load_codes<signed>, load_values, store_values, pack_codes, store_codes, for 1
/// to 16 lanes; kLanesOf<decltype(array)> of a reference to an array; copy_vector<bytes>(to, from, valid), zeros if not
/// valid.
std::string_view vector_access_source();

/// `extern "C" __global__ void ENTRY(parameters)` with launch bounds, parameters named as the arguments are:
/// x, residual for inputs, y for the output. At least `ctas_per_sm` CTAs must find registers on an SM.
std::string kernel_signature(const std::string& entry, const std::vector<KernelArgument>& arguments, int64_t threads,
                             int64_t ctas_per_sm);

/// Declares `smem`: static up to 48 KiB, else dynamic. Sets launch.dynamic_smem_bytes.
std::string shared_memory_declaration(int64_t bytes, LaunchShape& launch, int64_t alignment = 16);

/// CTAs that an SM holds by registers (a thread), threads (a CTA) and shared memory; at least 1.
int64_t resident_ctas(int64_t registers, int64_t threads, int64_t smem_bytes, const Target& target);

inline constexpr int64_t kStaticSmemBytes = 48 << 10;

}  // namespace warpwright
