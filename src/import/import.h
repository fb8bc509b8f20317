// Import: an ONNX file to a Graph. The only user of onnx and protobuf.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/core/tensor.h"
#include "src/graph/graph.h"

namespace warpwright {

/// Shapes given by --shape, by input name.
using ShapeBindings = std::map<std::string, Shape>;

/// Throws UsageError: not ONNX, truncated, operators that are not taken (all listed with their nodes in one message), a
/// dynamic shape without a binding, a binding for an unknown input.
Graph import_onnx(const std::filesystem::path& path, const ShapeBindings& shapes);

enum class Unsupported { refused, skipped };

struct ImportedGraph {
  Graph graph;
  std::vector<std::string> left_out;                // for people: each node with operator and reason
  std::map<std::string, std::string> why_left_out;  // by the names of the ONNX nodes, those within a call or branch too
};

/// With `skipped` what cannot be taken is left out, and what hangs on it as far as the file does not declare the type
/// and shape of a tensor between: such tensors become inputs of the graph, what only left out nodes read becomes
/// outputs. Good for tuning, not for running. Throws as above, and UsageError when nothing is left.
ImportedGraph import_onnx(const std::filesystem::path& path, const ShapeBindings& shapes, Unsupported unsupported);

}  // namespace warpwright
