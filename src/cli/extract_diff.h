// What `extract NEW --diff OLD` prints: tasks of two models side by side.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/core/tensor.h"
#include "src/import/import.h"

namespace warpwright {

/// `shapes` binds inputs of both models, each those that it has; throws UsageError for a name that neither has, and for
/// what either model is refused for, naming its file.
int print_task_diff(const std::filesystem::path& new_model, const std::filesystem::path& old_model,
                    const std::map<std::string, Shape>& shapes, Unsupported unsupported, bool json);

}  // namespace warpwright
