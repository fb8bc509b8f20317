// warpwright extract: the tasks of a model, or its graph after a pass.
#include <fmt/core.h>

#include <memory>

#include "search_space/kernel_family.h"
#include "src/cli/arguments.h"
#include "src/cli/model.h"
#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/json.h"
#include "src/core/json_text.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/tasks/tasks.h"

namespace warpwright {
namespace {

/// Legal Configs are counted up to here.
constexpr int64_t kMostCounted = 1000;

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string after, target = "rtx4090";
  bool json = false;
};

struct FamilySize {
  std::string name;
  int64_t points = 0, legal = 0;
};

std::vector<FamilySize> family_sizes(const Workload& workload, const Target& target) {
  std::vector<FamilySize> sizes;
  for (const KernelFamily* family : families_for(workload, target)) {
    const Space space = family->space(workload, target);
    const auto legal = static_cast<int64_t>(space.enumerate(kMostCounted).size());
    sizes.push_back({std::string(family->name()), space.point_count(), legal});
  }
  return sizes;
}

std::string legal_text(const std::vector<FamilySize>& sizes) {
  int64_t legal = 0;
  bool more = false;
  for (const FamilySize& size : sizes) {
    legal += size.legal;
    more = more || size.legal == kMostCounted;
  }
  return fmt::format("{}{}", legal, more ? "+" : "");
}

Json task_json(const Task& task, const std::vector<FamilySize>& sizes) {
  Json families = Json::array();
  for (const FamilySize& size : sizes) {
    families.push_back({{"name", size.name}, {"points", size.points}, {"legal", size.legal}});
  }
  return {{"key", task.key},
          {"workload", to_json(task.workload)},
          {"summary", task.workload.summary()},
          {"weight", task.weight},
          {"steps", task.steps},
          {"onnx_nodes", task.onnx_nodes},
          {"multiply_adds", task.workload.multiply_adds()},
          {"families", families}};
}

int print_graph(const Options& options) {
  Graph graph = import_onnx(options.model, parse_shapes(options.shapes));
  run_passes(graph, options.after);
  if (options.json) {
    fmt::print("{}\n", json_document(Json{
                           {"schema", "warpwright.extract/1"}, {"after", options.after}, {"graph", to_json(graph)}}));
  } else {
    fmt::print("{}", to_text(graph));
  }
  return kDone;
}

int extract(const Options& options) {
  if (!options.after.empty()) return print_graph(options);
  const Target target = build_target(options.target).target;
  const Model model = read_model(options.model, parse_shapes(options.shapes));
  const std::vector<Task> tasks = extract_tasks(model.program);
  Table table({"task", "workload", ">weight", "families", ">configs", ">multiply-adds", "first ONNX nodes"});
  Json list = Json::array();
  int64_t multiply_adds = 0;
  for (const Task& task : tasks) {
    const std::vector<FamilySize> sizes = family_sizes(task.workload, target);
    std::vector<std::string> names;
    for (const FamilySize& size : sizes) names.push_back(size.name);
    multiply_adds += task.workload.multiply_adds() * task.weight;
    if (options.json) list.push_back(task_json(task, sizes));
    table.add({task.key, task.workload.summary(), std::to_string(task.weight),
               names.empty() ? "none" : short_list(names), legal_text(sizes),
               std::to_string(task.workload.multiply_adds()), short_list(task.onnx_nodes)});
  }
  if (options.json) {
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.extract/1"},
                                          {"model_digest", model.digest},
                                          {"target", target.name},
                                          {"steps", model.program.steps.size()},
                                          {"arena_bytes", model.program.arena_bytes},
                                          {"multiply_adds", multiply_adds},
                                          {"tasks", list}}));
    return kDone;
  }
  table.print();
  fmt::print("{} tasks in {} steps, {:.3f} G multiply-adds, arena {} bytes\n", tasks.size(), model.program.steps.size(),
             static_cast<double>(multiply_adds) / 1e9, model.program.arena_bytes);
  return kDone;
}

}  // namespace

VerbBody extract_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model")->required();
  app.add_option("--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224")->allow_extra_args(false);
  std::string passes;
  for (const std::string& pass : pass_names()) passes += (passes.empty() ? "" : ", ") + pass;
  app.add_option("--after", options->after, "print the graph after this pass instead: " + passes);
  app.add_option("--target", options->target, "the card whose spaces are counted")->capture_default_str();
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return extract(*options); };
}

}  // namespace warpwright
