// Why nodes are left over when all passes have run.
#pragma once

#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace warpwright {

/// One line for each node that is no step: its name, its operator and the reason. Empty when all are steps.
std::vector<std::string> nodes_left_over(const Graph& graph);

}  // namespace warpwright
