// Lowering: the list of passes, then steps, then the memory plan.
#include "src/graph/lowering.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "src/core/error.h"
#include "src/graph/memory_plan.h"
#include "src/graph/passes/passes.h"
#include "src/graph/refusal.h"

namespace warpwright {

namespace {

struct Pass {
  const char* name;
  void (*run)(Graph&);
};

constexpr std::array<Pass, 18> kPasses{{
    {"remove_dead_nodes", remove_dead_nodes},
    {"remove_identities", remove_identities},
    {"move_quantization", move_quantization},
    {"fold_constants", fold_constants},
    {"fold_products", fold_products},
    {"center_weights", center_weights},
    {"fuse_requantization", fuse_requantization},
    {"fuse_average_pools", fuse_average_pools},
    {"fuse_elementwise", fuse_elementwise},
    {"note_reasons", note_reasons},
    {"form_steps", form_steps},
    {"form_real_steps", form_real_steps},
    {"fold_tables", fold_tables},
    {"fuse_residuals", fuse_residuals},
    {"fuse_tables", fuse_tables},
    {"fuse_maps", fuse_maps},
    {"bind_constants", bind_constants},
    {"choose_layouts", choose_layouts},
}};

void refuse_leftovers(const Graph& graph) {
  const std::vector<std::string> lines = nodes_left_over(graph);
  if (lines.empty()) return;
  throw UsageError(fmt::format("the model has {} part{} that cannot be taken:\n{}", lines.size(),
                               lines.size() == 1 ? "" : "s", fmt::join(lines, "\n")));
}

/// Numbers of the tensors that the Program has, in the order of their first use.
class TensorNumbers {
 public:
  TensorNumbers(const Graph& graph, Program& program) : graph_(graph), program_(program) {
    numbers_.assign(graph.tensors.size(), -1);
  }

  int of(TensorId id) {
    int& number = numbers_[static_cast<size_t>(id)];
    if (number < 0) {
      number = static_cast<int>(program_.tensors.size());
      ProgramTensor tensor;
      tensor.name = graph_.tensor(id).name;
      tensor.form = *graph_.tensor(id).form;
      program_.tensors.push_back(std::move(tensor));
    }
    return number;
  }

 private:
  const Graph& graph_;
  Program& program_;
  std::vector<int> numbers_;
};

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) names.emplace_back(pass.name);
  return names;
}

void run_passes(Graph& graph, const std::string& last_pass) {
  const std::vector<std::string> names = pass_names();
  if (!last_pass.empty() && std::find(names.begin(), names.end(), last_pass) == names.end()) {
    throw UsageError(fmt::format("there is no pass '{}'; the passes are {}", last_pass, fmt::join(names, ", ")));
  }
  for (const Pass& pass : kPasses) {
    pass.run(graph);
    if (pass.name == last_pass) return;
  }
}

Program lower(Graph graph) { return lower_with_report(std::move(graph)).program; }

Lowered lower_with_report(Graph graph) {
  run_passes(graph);
  refuse_leftovers(graph);
  Program program;
  TensorNumbers numbers(graph, program);
  for (TensorId input : graph.inputs) {
    const GraphTensor& tensor = graph.tensor(input);
    program.inputs.push_back({tensor.name, tensor.shape, tensor.dtype, numbers.of(input)});
  }
  for (Node& node : graph.nodes) {
    ProgramStep step;
    for (TensorId input : node.inputs) step.inputs.push_back(numbers.of(input));
    step.output = numbers.of(node.output);
    step.workload = std::move(node.workload);
    step.values = std::move(node.values);
    step.onnx_nodes = std::move(node.onnx_nodes);
    program.steps.push_back(std::move(step));
  }
  for (const GraphOutput& output : graph.outputs) {
    const GraphTensor& tensor = graph.tensor(output.tensor);
    Shape shape = output.shape.value_or(tensor.shape);
    program.outputs.push_back({output.name, std::move(shape), tensor.dtype, numbers.of(output.tensor)});
  }
  plan_memory(program);
  std::vector<NodeReport> nodes = report_nodes(program, graph.onnx_nodes, graph.reasons);
  return {std::move(program), std::move(nodes)};
}

}  // namespace warpwright
