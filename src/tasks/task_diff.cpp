// Tasks side by side: by key, and where there is none, by the names of their ONNX nodes.
#include "src/tasks/task_diff.h"

#include <algorithm>
#include <map>
#include <set>

namespace warpwright {
namespace {

std::vector<std::string> nodes_of(const Program& program, const Task& task) {
  std::vector<std::string> nodes;
  for (const size_t step : task.steps) {
    const std::vector<std::string>& of_step = program.steps[step].onnx_nodes;
    nodes.insert(nodes.end(), of_step.begin(), of_step.end());
  }
  return nodes;
}

/// Which task runs an ONNX node, of nodes that are part of one step alone: a DequantizeLinear that several steps read
/// is part of each and tells nothing.
std::map<std::string, size_t> tasks_by_node(const Program& program, const std::vector<Task>& tasks) {
  std::map<std::string, size_t> by_node;
  std::set<std::string> shared;
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (const std::string& node : nodes_of(program, tasks[i])) {
      if (!by_node.emplace(node, i).second) shared.insert(node);
    }
  }
  for (const std::string& node : shared) by_node.erase(node);
  return by_node;
}

}  // namespace

std::string_view name(TaskChange change) {
  switch (change) {
    case TaskChange::same:
      return "same";
    case TaskChange::changed:
      return "changed";
    case TaskChange::added:
      return "new";
    case TaskChange::gone:
      return "gone";
  }
  return "unknown";
}

std::vector<TaskDifference> diff_tasks(const Program& old_program, const Program& new_program) {
  const std::vector<Task> old_tasks = extract_tasks(old_program);
  std::vector<Task> new_tasks = extract_tasks(new_program);
  const auto old_by_node = tasks_by_node(old_program, old_tasks), new_by_node = tasks_by_node(new_program, new_tasks);
  std::map<std::string, size_t> old_by_key;
  for (size_t i = 0; i < old_tasks.size(); ++i) old_by_key.emplace(old_tasks[i].key, i);
  std::vector<std::map<size_t, int>> common(new_tasks.size());  // with old tasks: how many nodes
  for (const auto& [node, i] : new_by_node) {
    if (const auto at = old_by_node.find(node); at != old_by_node.end()) ++common[i][at->second];
  }
  std::set<size_t> placed;  // old tasks that the new program has, or has another in place of
  std::vector<TaskDifference> differences;
  for (size_t i = 0; i < new_tasks.size(); ++i) {
    TaskDifference difference;
    difference.new_weight = new_tasks[i].weight;
    difference.onnx_nodes = nodes_of(new_program, new_tasks[i]);
    if (const auto same = old_by_key.find(new_tasks[i].key); same != old_by_key.end()) {
      difference.old_weight = old_tasks[same->second].weight;
      placed.insert(same->second);
    } else if (common[i].empty()) {
      difference.change = TaskChange::added;
    } else {
      const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
      const size_t before = std::max_element(common[i].begin(), common[i].end(), fewer)->first;
      difference.change = TaskChange::changed;
      difference.was = old_tasks[before];
      placed.insert(before);
    }
    difference.task = std::move(new_tasks[i]);
    differences.push_back(std::move(difference));
  }
  for (size_t i = 0; i < old_tasks.size(); ++i) {
    if (placed.contains(i)) continue;
    const Task& task = old_tasks[i];
    differences.push_back({TaskChange::gone, task, task.weight, 0, nodes_of(old_program, task), std::nullopt});
  }
  return differences;
}

}  // namespace warpwright
