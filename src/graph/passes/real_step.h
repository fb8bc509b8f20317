// Float32 steps: forms and values as their kinds want them.
#pragma once

#include "src/graph/graph.h"

namespace warpwright {

/// Constants among the inputs of a float32 step become values where its kind has a place for them, and the forms of the
/// workload are set.
void place_constants(const Graph& graph, Node& node);

/// How many elements of constants a pass may compute, so that a small file cannot ask for all memory.
class FoldingBudget {
 public:
  explicit FoldingBudget(const Graph& graph);
  /// Whether the output of the node may still be computed; it counts from then on.
  bool take(const Graph& graph, const Node& node);

 private:
  int64_t left_elements_ = 0;
};

/// What a float32 step or a move gives whose inputs are all constants.
Tensor evaluated(const Graph& graph, const Node& node);

/// Steps that write the constant into `output`, at the end of the graph as it is. Throws UsageError for a graph without
/// inputs.
void append_constant(Graph& graph, TensorId constant, TensorId output, const std::vector<std::string>& onnx_nodes);

}  // namespace warpwright
