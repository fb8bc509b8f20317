// Tasks: the unique Workloads of a Program with how often each is run.
#pragma once

#include <string>
#include <vector>

#include "src/core/program.h"

namespace warpwright {

struct Task {
  std::string key;  // of the Workload
  Workload workload;
  int weight = 1;                       // how many steps run it
  std::vector<size_t> steps;            // indices into Program::steps
  std::vector<std::string> onnx_nodes;  // of the first step
};

/// In the order of first use.
std::vector<Task> extract_tasks(const Program& program);

}  // namespace warpwright
