// Tasks: steps with equal Workloads share one.
#include "src/tasks/tasks.h"

#include <map>

namespace warpwright {

std::vector<Task> extract_tasks(const Program& program) {
  std::vector<Task> tasks;
  std::map<std::string, size_t> by_key;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const ProgramStep& step = program.steps[i];
    std::string task_key = key(step.workload);
    auto [at, fresh] = by_key.emplace(task_key, tasks.size());
    if (fresh) {
      tasks.push_back({std::move(task_key), step.workload, 1, {i}, step.onnx_nodes});
    } else {
      ++tasks[at->second].weight;
      tasks[at->second].steps.push_back(i);
    }
  }
  return tasks;
}

}  // namespace warpwright
