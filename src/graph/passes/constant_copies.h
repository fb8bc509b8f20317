// ConstantCopies: what steps hold of constants that several of them read.
#pragma once

#include <set>

#include "src/graph/graph.h"

namespace warpwright {

/// The first copy of a constant is free, each further one is taken from the graph's budget.
class ConstantCopies {
 public:
  explicit ConstantCopies(Graph& graph) : graph_(graph) {}
  /// Throws UsageError that names the constant and `node`, which wants it, when it may not be held once more.
  void add(TensorId constant, const Node& node);

 private:
  Graph& graph_;
  std::set<TensorId> held_;
};

}  // namespace warpwright
