// NumPy .npy files (versions 1 to 3, C order, little endian; f32, f16, s64, s32, s8, u8, bool; others are refused by
// name).
#pragma once

#include <filesystem>

#include "src/core/tensor.h"

namespace warpwright {

/// Throws UsageError that names the file and the fault.
Tensor read_npy(const std::filesystem::path& path);
/// True for a file that begins as one.
bool is_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace warpwright
