// warpwright extract: the tasks of a model, beside those of another one or alone, or its graph after a pass.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>

#include "search_space/kernel_family.h"
#include "src/cli/arguments.h"
#include "src/cli/extract_diff.h"
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
  std::string after, old_model, target = "rtx4090";
  bool json = false, verbose = false, nodes = false, skip_unsupported = false;
};

Unsupported unsupported(const Options& options) {
  return options.skip_unsupported ? Unsupported::skipped : Unsupported::refused;
}

/// What one family says to a Workload.
struct FamilyAnswer {
  std::string name, why_unsupported;  // empty: it takes the Workload
  int64_t points = 0, legal = 0;
};

std::vector<FamilyAnswer> ask_families(const Workload& workload, const Target& target) {
  std::vector<FamilyAnswer> answers;
  for (const KernelFamily* family : kernel_families()) {
    FamilyAnswer answer{std::string(family->name()), family->why_unsupported(workload, target).value_or(""), 0, 0};
    if (answer.why_unsupported.empty()) {
      const Space space = family->space(workload, target);
      answer.points = space.point_count();
      answer.legal = static_cast<int64_t>(space.enumerate(kMostCounted).size());
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

/// Of the families that take the Workload: names, and how many legal Configs they have together.
std::string families_text(const std::vector<FamilyAnswer>& answers) {
  std::vector<std::string> names;
  for (const FamilyAnswer& answer : answers) {
    if (answer.why_unsupported.empty()) names.push_back(answer.name);
  }
  return names.empty() ? "none" : short_list(names);
}

std::string legal_text(const std::vector<FamilyAnswer>& answers) {
  int64_t legal = 0;
  bool more = false;
  for (const FamilyAnswer& answer : answers) {
    legal += answer.legal;
    more = more || answer.legal >= kMostCounted;
  }
  return fmt::format("{}{}", legal, more ? "+" : "");
}

/// What each family says to the task.
void print_answers(const Task& task, const std::vector<FamilyAnswer>& answers) {
  fmt::print("{} {}\n", task.key, task.workload.summary());
  for (const FamilyAnswer& answer : answers) {
    if (answer.why_unsupported.empty()) {
      fmt::print("  {}: {} points, {}{} of them legal\n", answer.name, answer.points, answer.legal,
                 answer.legal >= kMostCounted ? " or more" : "");
    } else {
      fmt::print("  {}: no, {}\n", answer.name, answer.why_unsupported);
    }
  }
}

Json task_json(const Task& task, const std::vector<FamilyAnswer>& answers) {
  Json families = Json::array(), others = Json::array();
  for (const FamilyAnswer& answer : answers) {
    if (answer.why_unsupported.empty()) {
      families.push_back({{"name", answer.name}, {"points", answer.points}, {"legal", answer.legal}});
    } else {
      others.push_back({{"name", answer.name}, {"why", answer.why_unsupported}});
    }
  }
  return {{"key", task.key},
          {"workload", to_json(task.workload)},
          {"summary", task.workload.summary()},
          {"weight", task.weight},
          {"steps", task.steps},
          {"onnx_nodes", task.onnx_nodes},
          {"multiply_adds", task.workload.multiply_adds()},
          {"families", families},
          {"other_families", others}};
}

int print_graph(const Options& options) {
  Graph graph = import_onnx(options.model, parse_shapes(options.shapes), unsupported(options)).graph;
  run_passes(graph, options.after);
  if (options.json) {
    fmt::print("{}\n", json_document(Json{
                           {"schema", "warpwright.extract/1"}, {"after", options.after}, {"graph", to_json(graph)}}));
  } else {
    fmt::print("{}", to_text(graph));
  }
  return kDone;
}

/// What each ONNX node is computed in; why, where that is not 8 bits.
void print_nodes(const Model& model) {
  Table table({"ONNX node", "operator", "precision", ">steps", "why not in 8 bits"});
  for (const NodeReport& node : model.nodes) {
    table.add(
        {node.name, node.op_type, std::string(name(node.precision)), std::to_string(node.steps.size()), node.why_real});
  }
  table.print();
}

Json nodes_json(const Model& model) {
  Json nodes = Json::array();
  for (const NodeReport& node : model.nodes) {
    Json item{{"name", node.name},
              {"op_type", node.op_type},
              {"precision", std::string(name(node.precision))},
              {"steps", node.steps}};
    const char* why = node.precision == Precision::left_out ? "why_left_out" : "why_not_8_bit";
    if (!node.why_real.empty()) item[why] = node.why_real;
    nodes.push_back(std::move(item));
  }
  return nodes;
}

Json shares_json(const Program& program) {
  Json json = Json::object();
  for (const auto& [precision, share] : shares(program)) {
    json[std::string(name(precision))] = {{"steps", share.steps}, {"multiply_adds", share.multiply_adds}};
  }
  return json;
}

/// `8-bit: 12 steps, 98.1 % of the multiply-adds; float32: ...`.
std::string shares_text(const Program& program) {
  int64_t all = 0;
  const auto parts = shares(program);
  for (const auto& [precision, share] : parts) all += share.multiply_adds;
  std::vector<std::string> texts;
  for (const auto& [precision, share] : parts) {
    std::string text = fmt::format("{}: {} steps", name(precision), share.steps);
    if (share.multiply_adds > 0) {
      text += fmt::format(", {:.1f} % of the multiply-adds",
                          100 * static_cast<double>(share.multiply_adds) / static_cast<double>(all));
    }
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

int extract(const Options& options) {
  if (!options.after.empty()) return print_graph(options);
  if (!options.old_model.empty()) {
    return print_task_diff(options.model, options.old_model, parse_shapes(options.shapes), unsupported(options),
                           options.json);
  }
  const Target target = build_target(options.target).target;
  const Model model = read_model(options.model, parse_shapes(options.shapes), unsupported(options));
  warn_of_left_out(model);
  const std::vector<Task> tasks = extract_tasks(model.program);
  Table table({"task", "workload", ">weight", "families", ">configs", ">multiply-adds", "first ONNX nodes"});
  Json list = Json::array();
  int64_t multiply_adds = 0;
  for (const Task& task : tasks) {
    const std::vector<FamilyAnswer> answers = ask_families(task.workload, target);
    multiply_adds += task.workload.multiply_adds() * task.weight;
    if (options.json) list.push_back(task_json(task, answers));
    if (options.verbose && !options.json) print_answers(task, answers);
    table.add({task.key, task.workload.summary(), std::to_string(task.weight), families_text(answers),
               legal_text(answers), std::to_string(task.workload.multiply_adds()), short_list(task.onnx_nodes)});
  }
  if (options.json) {
    fmt::print("{}\n", json_document(Json{{"schema", "warpwright.extract/1"},
                                          {"model_digest", model.digest},
                                          {"target", target.name},
                                          {"steps", model.program.steps.size()},
                                          {"arena_bytes", model.program.arena_bytes},
                                          {"multiply_adds", multiply_adds},
                                          {"precisions", shares_json(model.program)},
                                          {"onnx_nodes", nodes_json(model)},
                                          {"left_out", model.left_out},
                                          {"tasks", list}}));
    return kDone;
  }
  if (options.nodes) print_nodes(model);
  table.print();
  fmt::print("{} tasks in {} steps, {:.3f} G multiply-adds, arena {} bytes\n", tasks.size(), model.program.steps.size(),
             static_cast<double>(multiply_adds) / 1e9, model.program.arena_bytes);
  fmt::print("{}\n", shares_text(model.program));
  return kDone;
}

}  // namespace

VerbBody extract_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model")->required();
  add_repeated(app, "--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224");
  CLI::Option* after = app.add_option("--after", options->after, "print the graph after this pass instead")
                           ->check(CLI::IsMember(pass_names()));
  CLI::Option* diff = app.add_option("--diff", options->old_model,
                                     "an older model: say which tasks are the same, changed, new or gone since; "
                                     "--shape binds the inputs of both");
  diff->excludes(after);
  CLI::Option* of_spaces[] = {
      app.add_option("--target", options->target, "the card whose spaces are counted")->capture_default_str(),
      app.add_flag("-v,--verbose", options->verbose,
                   "say of every family how many Configs it has for a task, or why it has none"),
      app.add_flag("--nodes", options->nodes,
                   "say of every ONNX node whether it is in 8 bits, in float32 or left out, and why not in 8 bits")};
  for (CLI::Option* option : of_spaces) option->excludes(after)->excludes(diff);
  app.add_flag("--skip-unsupported", options->skip_unsupported,
               "the tasks of what is left without nodes that cannot be taken");
  app.add_flag("--json", options->json, "print JSON, the answer of every family included");
  return [options] { return extract(*options); };
}

}  // namespace warpwright
