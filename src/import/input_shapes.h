// The inputs of an ONNX file as it declares them, before any shape is bound.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/core/tensor.h"

namespace warpwright {

/// By input name; -1 stands for a dimension that --shape must bind. Empty for an input without any shape.
std::map<std::string, Shape> declared_input_shapes(const std::filesystem::path& path);

}  // namespace warpwright
