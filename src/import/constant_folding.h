// Nodes that hang on no graph input are computed while the model is read: the arithmetic of shapes that exporters
// write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/import/operators.h"

namespace warpwright {

/// Whether the operator of the default domain is one that is computed here.
bool is_folded(const std::string& op_type);
/// What the node gives, one constant an output, if its operator is one that is computed here and all that it reads is
/// constant; of Shape and Size, whatever they read. Throws UsageError with the reason alone when the node is wrong.
std::optional<std::vector<OnnxConstant>> fold_node(const onnx::NodeProto& node, ImportedTensors& tensors,
                                                   int64_t opset);

}  // namespace warpwright
