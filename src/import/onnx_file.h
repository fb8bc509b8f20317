// The model file: parsed and checked as a whole, before any operator is looked at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>
#include "src/core/file.h"

namespace warpwright {

/// A parsed file. Raw data of its initializers stays in the file until somebody asks for it.
struct OnnxFile {
  onnx::ModelProto model;
  std::vector<std::optional<FileRange>> raw_data;  // one an initializer; nothing where the model holds its data
};

/// Throws UsageError: missing, empty, not ONNX, truncated, names that are no UTF-8.
OnnxFile read_onnx(const std::filesystem::path& path);

using OpsetImports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;
/// The opset of the default domain, if it is imported. Throws UsageError that names the importer: two of them, or one
/// that is not known here.
std::optional<int64_t> default_opset(const OpsetImports& imports, const std::string& importer);

/// Indices of the nodes, producers before readers, in the order of the file where that is free. Throws UsageError on
/// tensors written twice or by nothing, and on cycles, each with the names.
std::vector<int> sorted_nodes(const onnx::GraphProto& graph);

/// Names of the tensors that the node and the graphs within it read, in no particular order; without those that a graph
/// within it wrote before.
std::vector<std::string> tensors_read(const onnx::NodeProto& node);

/// What messages call a node: its name, or else that of its first output.
std::string display_name(const onnx::NodeProto& node);

/// Names of ONNX element types by number, for messages.
std::string element_type_name(int type);

}  // namespace warpwright
