// Element types of tensors, with their sizes, names and integer ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace warpwright {

/// s64 and boolean (a byte, 0 or 1) exist in nchw only, beside the float32 kinds; f16 (core/half.h) in maps only, which
/// make f32 of it and back.
enum class DType { s8, u8, s32, f32, s64, boolean, f16 };

size_t size_bytes(DType dtype);
std::string_view name(DType dtype);
/// Throws UsageError when `text` names no element type.
DType dtype_from_name(std::string_view text);

/// Smallest and largest code of an 8-bit type; throws InternalError for others.
int32_t code_min(DType dtype);
int32_t code_max(DType dtype);
bool is_code(DType dtype);  // s8 or u8

}  // namespace warpwright
