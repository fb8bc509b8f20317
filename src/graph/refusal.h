// Why nodes are left over when all passes have run.
#pragma once

#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace warpwright {

/// Why no pass up to form_steps has taken the node into 8 bits.
std::string reason_of(const Graph& graph, const GraphIndex& index, const Node& node);

/// One line for each node that is no step: its name, its operator and the reason. Empty when all are steps.
std::vector<std::string> nodes_left_over(const Graph& graph);

}  // namespace warpwright
