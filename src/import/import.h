// Import: an ONNX file to a Graph. The only user of onnx and protobuf.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/core/tensor.h"
#include "src/graph/graph.h"

namespace warpwright {

/// Shapes given by --shape, by input name.
using ShapeBindings = std::map<std::string, Shape>;

/// Throws UsageError: not ONNX, truncated, operators that are not taken (all listed with their nodes in one message), a
/// dynamic shape without a binding, a binding for an unknown input.
Graph import_onnx(const std::filesystem::path& path, const ShapeBindings& shapes);

}  // namespace warpwright
