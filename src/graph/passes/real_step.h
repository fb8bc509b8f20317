// Float32 steps: forms and values as their kinds want them.
#pragma once

#include <optional>

#include "src/graph/graph.h"

namespace warpwright {

/// Constants among the inputs of a float32 step become values where its kind has a place for them, and the forms of the
/// workload are set.
void place_constants(const Graph& graph, Node& node);

/// Whether input number `slot` is a constant for which that is so.
bool becomes_value(const Graph& graph, const Node& node, size_t slot);

/// Whether the model may still ask for the output of the node as a constant; it counts from then on.
bool may_hold(Graph& graph, const Node& node);

/// What a float32 step or a move gives whose inputs are all constants. Nothing when that is more than the model may
/// still ask for.
std::optional<Tensor> evaluated(Graph& graph, const Node& node);

/// Steps that write the constant into `output`, at the end of the graph as it is. Throws UsageError for a graph without
/// inputs.
void append_constant(Graph& graph, TensorId constant, TensorId output, const std::vector<std::string>& onnx_nodes);

}  // namespace warpwright
