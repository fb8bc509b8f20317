// Functions that a model brings along: their bodies in place of the nodes that call them.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

namespace warpwright {

/// Throws UsageError that names a function which the model defines twice.
void check_functions(const onnx::ModelProto& model);

/// The function that the node calls, or null.
const onnx::FunctionProto* called_function(const onnx::ModelProto& model, const onnx::NodeProto& node);

/// The nodes of the body with the names and attributes of the call; names of the body's own get `prefix` and a slash
/// before them. Throws UsageError on more inputs or outputs than the function has.
std::vector<onnx::NodeProto> inlined(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                                     const std::string& prefix);

/// At most so many bytes are in the graph that `inlined` gives, nodes and names; for what a file may ask for.
int64_t most_inlined_bytes(const onnx::FunctionProto& function, const onnx::NodeProto& call, const std::string& prefix);

}  // namespace warpwright
