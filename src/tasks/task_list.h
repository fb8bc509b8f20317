// Task lists: files that name tasks, from a build that misses them to the `tune` that measures them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/tasks/tasks.h"

namespace warpwright {

/// One line of the file, JSON: {"task": "w1-...", "workload": {...}, "weight": 3, "why": "no record of this card"}.
/// `workload` is its canonical JSON, so that no model is needed to tune it; other fields of a line are left alone.
struct ListedTask {
  Task task;        // key, Workload, weight; no steps
  std::string why;  // it is listed; may be empty
};

/// Written under a temporary name and renamed.
void write_task_list(const std::filesystem::path& path, const std::vector<ListedTask>& tasks);
/// Throws UsageError that names the file and the line.
std::vector<ListedTask> read_task_list(const std::filesystem::path& path);

/// True for a file whose first line is that of a task list.
bool is_task_list(const std::filesystem::path& path);

}  // namespace warpwright
