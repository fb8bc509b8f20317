// Differences between the tasks of two programs: what the records of the old one still serve.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tasks/tasks.h"

namespace warpwright {

enum class TaskChange {
  same,     // in both, by its key
  changed,  // only in the new one; ONNX nodes of it were another task's in the old one
  added,    // only in the new one, and so are its ONNX nodes
  gone,     // only in the old one, and no task of the new one took its place
};
/// `same`, `changed`, `new`, `gone`.
std::string_view name(TaskChange change);

struct TaskDifference {
  TaskChange change = TaskChange::same;
  Task task;                            // of the new program; where it is gone, of the old one
  int old_weight = 0, new_weight = 0;   // 0 where it does not exist
  std::vector<std::string> onnx_nodes;  // of all its steps
  std::optional<Task> was;              // changed: what ran the most of its ONNX nodes before
};

/// The tasks of the new program in its order, then what is gone.
std::vector<TaskDifference> diff_tasks(const Program& old_program, const Program& new_program);

}  // namespace warpwright
