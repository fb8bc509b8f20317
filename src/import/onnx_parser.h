// The model file as protobuf: read in one pass that steps over the raw data of initializers.
#pragma once

#include <filesystem>

#include "src/import/onnx_file.h"

namespace warpwright {

/// Throws UsageError that names the path: missing, empty, larger than protobuf can take, truncated, no protobuf.
OnnxFile parse_onnx(const std::filesystem::path& path);

}  // namespace warpwright
