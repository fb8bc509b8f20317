// Tasks of two models, by what a database of the old one still serves.
#include "src/cli/extract_diff.h"

#include <fmt/format.h>

#include <array>

#include "src/cli/model.h"
#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/import/input_shapes.h"
#include "src/tasks/task_diff.h"

namespace warpwright {
namespace {

using Shapes = std::map<std::string, Shape>;

struct Counts {
  std::map<TaskChange, int64_t> tasks;
  int64_t all_multiply_adds = 0, same_multiply_adds = 0;  // of the new model, by weight
};

/// What concerns one of two models names its file.
template <typename Read>
auto of_file(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    if (text.find(path.string()) != std::string::npos) throw;
    throw UsageError(fmt::format("{}: {}", path.string(), text));
  }
}

Shapes shapes_for(const Shapes& shapes, const Shapes& declared) {
  Shapes own;
  for (const auto& [input, shape] : shapes) {
    if (declared.contains(input)) own.emplace(input, shape);
  }
  return own;
}

Counts count(const std::vector<TaskDifference>& differences) {
  Counts counts;
  for (const TaskDifference& difference : differences) {
    ++counts.tasks[difference.change];
    const int64_t multiply_adds = difference.task.workload.multiply_adds() * difference.new_weight;
    counts.all_multiply_adds += multiply_adds;
    if (difference.change == TaskChange::same) counts.same_multiply_adds += multiply_adds;
  }
  return counts;
}

double same_share(const Counts& counts) {
  return static_cast<double>(counts.same_multiply_adds) / static_cast<double>(counts.all_multiply_adds);
}

/// `1 changed, 52 same`; `1 changed, 2 new, 1 gone, 52 same`.
std::string sum_text(const Counts& counts) {
  const auto of = [&](TaskChange change) {
    const auto at = counts.tasks.find(change);
    return at == counts.tasks.end() ? int64_t{0} : at->second;
  };
  std::string text = fmt::format("{} changed", of(TaskChange::changed));
  for (const TaskChange change : {TaskChange::added, TaskChange::gone}) {
    if (of(change) > 0) text += fmt::format(", {} {}", of(change), name(change));
  }
  return text + fmt::format(", {} same", of(TaskChange::same));
}

/// `3`, or `2 -> 3`.
std::string weight_text(const TaskDifference& difference) {
  if (difference.old_weight == 0 || difference.old_weight == difference.new_weight) {
    return std::to_string(difference.new_weight);
  }
  return fmt::format("{} -> {}", difference.old_weight, difference.new_weight);
}

/// What is the same first, so that the rest stands beside the sum.
void print_table(const std::vector<TaskDifference>& differences) {
  Table table({"task", "change", "workload", ">weight", "was", "ONNX nodes"});
  for (const TaskChange change : {TaskChange::same, TaskChange::gone, TaskChange::added, TaskChange::changed}) {
    for (const TaskDifference& difference : differences) {
      if (difference.change != change) continue;
      table.add({difference.task.key, std::string(name(change)), difference.task.workload.summary(),
                 weight_text(difference), difference.was ? difference.was->workload.summary() : "",
                 short_list(difference.onnx_nodes)});
    }
  }
  table.print();
}

Json json_of(const TaskDifference& difference) {
  Json was;
  if (difference.was) was = {{"key", difference.was->key}, {"summary", difference.was->workload.summary()}};
  return {{"key", difference.task.key},
          {"change", std::string(name(difference.change))},
          {"workload", to_json(difference.task.workload)},
          {"summary", difference.task.workload.summary()},
          {"weight", difference.new_weight},
          {"old_weight", difference.old_weight},
          {"onnx_nodes", difference.onnx_nodes},
          {"was", was}};
}

void print_json(const Model& old_model, const Model& new_model, const std::vector<TaskDifference>& differences,
                const Counts& counts) {
  Json tasks = Json::array(), numbers = Json::object();
  for (const TaskDifference& difference : differences) tasks.push_back(json_of(difference));
  for (const TaskChange change : {TaskChange::same, TaskChange::changed, TaskChange::added, TaskChange::gone}) {
    const auto at = counts.tasks.find(change);
    numbers[std::string(name(change))] = at == counts.tasks.end() ? 0 : at->second;
  }
  Json document{{"schema", "warpwright.extract-diff/1"},
                {"model_digest", new_model.digest},
                {"old_model_digest", old_model.digest},
                {"left_out", new_model.left_out},
                {"old_left_out", old_model.left_out},
                {"tasks", tasks},
                {"counts", numbers}};
  if (counts.all_multiply_adds > 0) document["same_share_of_multiply_adds"] = same_share(counts);
  fmt::print("{}\n", json_document(document));
}

}  // namespace

int print_task_diff(const std::filesystem::path& new_path, const std::filesystem::path& old_path, const Shapes& shapes,
                    Unsupported unsupported, bool json) {
  std::array<std::filesystem::path, 2> paths{old_path, new_path};
  std::array<Shapes, 2> declared;
  for (size_t i = 0; i < 2; ++i) {
    declared[i] = of_file(paths[i], [&] { return declared_input_shapes(paths[i]); });
  }
  for (const auto& [input, shape] : shapes) {
    if (!declared[0].contains(input) && !declared[1].contains(input)) {
      throw UsageError(
          fmt::format("--shape {}={}: neither model has an input of this name", input, fmt::join(shape, ",")));
    }
  }
  const auto read = [&](size_t i) {
    return of_file(paths[i], [&] { return read_model(paths[i], shapes_for(shapes, declared[i]), unsupported); });
  };
  const Model old_model = read(0), new_model = read(1);
  warn_of_left_out(old_model);
  warn_of_left_out(new_model);
  const std::vector<TaskDifference> differences = diff_tasks(old_model.program, new_model.program);
  const Counts counts = count(differences);
  if (json) {
    print_json(old_model, new_model, differences, counts);
    return kDone;
  }
  print_table(differences);
  if (counts.all_multiply_adds > 0) {
    fmt::print("tasks that are the same: {:.1f} % of the multiply-adds\n", 100 * same_share(counts));
  }
  fmt::print("{}\n", sum_text(counts));
  return kDone;
}

}  // namespace warpwright
