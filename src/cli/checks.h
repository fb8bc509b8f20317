// What a night needs, looked at before it begins: `doctor` prints it, `tune` holds itself to it.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/check.h"
#include "src/core/json.h"
#include "src/tasks/tasks.h"

namespace warpwright {

struct CheckOptions {
  std::vector<std::string> devices;
  std::string nvrtc_path;
  std::filesystem::path database;  // empty: none is named
  bool only_reads = false;         // the database: nothing will be written
  int64_t task_bytes = 0;
  const std::atomic<bool>* stop = nullptr;
};

/// Checks of one device, or of the machine that they are in.
struct CheckList {
  std::string of;  // `cuda:0`, `machine`
  std::vector<Check> checks;
};

std::vector<CheckList> check_all(const CheckOptions& options);
bool has_failed(const std::vector<CheckList>& lists);
/// A line each, and one more where there is something to do.
std::vector<std::string> check_lines(const std::vector<CheckList>& lists);
Json checks_json(const std::vector<CheckList>& lists);

/// Logs them; throws EnvironmentError with what failed and what to do.
void require_checks(const CheckOptions& options);

/// Of the tensors of the task with the largest ones; 0 without tasks.
int64_t largest_task_bytes(const std::vector<Task>& tasks);

}  // namespace warpwright
