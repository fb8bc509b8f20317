// Lowering: an imported Graph through the passes to a Program. The list of passes stands in lowering.cpp, one file a
// pass.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/core/program.h"
#include "src/graph/graph.h"
#include "src/graph/report.h"

namespace warpwright {

/// The names of the passes in their order; what `--after` takes.
std::vector<std::string> pass_names();

/// Runs the passes up to and including `last_pass` (all when empty). Throws UsageError for an unknown name.
void run_passes(Graph& graph, const std::string& last_pass = {});

/// Passes, then steps, then the memory plan. Throws UsageError that lists every node that cannot be taken.
Program lower(Graph graph);

struct Lowered {
  Program program;
  std::vector<NodeReport> nodes;
};
/// The same, and what became of each ONNX node.
Lowered lower_with_report(Graph graph);

}  // namespace warpwright
