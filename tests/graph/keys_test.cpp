// Workload keys: the same for other names, orders and values, another for another form; golden values.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "src/graph/lowering.h"
#include "src/tasks/tasks.h"
#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

Graph digits() { return import_onnx(test_data_folder() / "models/digits_qat/model.onnx", {{"image", {1, 1, 8, 8}}}); }
Graph mixed_shapes() {
  return import_onnx(test_data_folder() / "models/mixed_shapes/model.onnx", {{"input", {1, 3, 96, 160}}});
}
Graph downsample() { return import_onnx(test_data_folder() / "cases/block_resnet_downsample/model.onnx", {}); }

/// Keys with their weights, sorted.
std::vector<std::pair<std::string, int>> keys_of(Graph graph) {
  std::vector<std::pair<std::string, int>> keys;
  for (const Task& task : extract_tasks(lower(std::move(graph)))) keys.emplace_back(task.key, task.weight);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// Other names everywhere, nodes in another legal order, operands of Add swapped.
void disguise(Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  for (size_t i = 0; i < graph.tensors.size(); ++i) graph.tensors[i].name = "renamed_" + std::to_string(i);
  std::vector<bool> written(graph.tensors.size(), false);
  for (TensorId input : graph.inputs) written[static_cast<size_t>(input)] = true;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].constant) written[i] = true;
  }
  std::vector<Node> rest = std::move(graph.nodes);
  graph.nodes.clear();
  while (!rest.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < rest.size(); ++i) {
      const auto known = [&](TensorId id) { return id == kNoTensor || written[static_cast<size_t>(id)]; };
      if (std::all_of(rest[i].inputs.begin(), rest[i].inputs.end(), known)) ready.push_back(i);
    }
    const size_t chosen = ready.at(random() % ready.size());
    Node node = std::move(rest[chosen]);
    rest.erase(rest.begin() + static_cast<int64_t>(chosen));
    written[static_cast<size_t>(node.output)] = true;
    node.name = "node_" + std::to_string(random());
    node.onnx_nodes = {node.name};
    if (node.kind == NodeKind::add && random() % 2) std::swap(node.inputs[0], node.inputs[1]);
    graph.nodes.push_back(std::move(node));
  }
}

/// Other weights and biases, all scales times 1.25: as after training anew.
void retrain(Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  for (GraphTensor& tensor : graph.tensors) {
    if (!tensor.constant || tensor.dtype == DType::f32) continue;
    for (std::byte& byte : tensor.constant->bytes) byte = static_cast<std::byte>(random());
  }
  for (Node& node : graph.nodes) {
    for (float& scale : node.quantization.scale) scale *= 1.25f;
  }
}

class Keys : public testing::TestWithParam<Graph (*)()> {};

TEST_P(Keys, T13NamesAndOrdersChangeNothing) {
  const auto keys = keys_of(GetParam()());
  for (unsigned seed = 0; seed < 10; ++seed) {
    Graph graph = GetParam()();
    disguise(graph, seed);
    EXPECT_EQ(keys_of(std::move(graph)), keys) << "seed " << seed;
  }
}

TEST_P(Keys, T13OtherValuesChangeNothing) {
  Graph graph = GetParam()();
  retrain(graph, 1);
  EXPECT_EQ(keys_of(std::move(graph)), keys_of(GetParam()()));
}

INSTANTIATE_TEST_SUITE_P(Models, Keys, testing::Values(digits, mixed_shapes, downsample));

TEST(KeysOfForms, T13AnotherFormIsAnotherKey) {
  const auto keys = keys_of(digits());
  const auto wider =
      keys_of(import_onnx(test_data_folder() / "models/digits_qat/model.onnx", {{"image", {2, 1, 8, 8}}}));
  for (const auto& [key, weight] : wider) {
    EXPECT_FALSE(std::any_of(keys.begin(), keys.end(), [&](const auto& other) { return other.first == key; }));
  }
  Graph shifted = digits();
  for (Node& node : shifted.nodes) {
    if (node.name == "conv0_quant" || node.name == "conv0_dequant") node.quantization.zero_point[0] = 3;
  }
  const auto with_zero_point = keys_of(std::move(shifted));
  std::vector<std::pair<std::string, int>> changed;
  std::set_difference(with_zero_point.begin(), with_zero_point.end(), keys.begin(), keys.end(),
                      std::back_inserter(changed));
  EXPECT_EQ(changed.size(), 1u);  // conv1 reads codes with a zero point now
}

TEST(KeysOfForms, T13Golden) {
  const std::vector<std::pair<std::string, std::string>> golden{
      {"quantize 1x8x8x1 -> 8x8x1", "w1-56c62b0e8c1d2487153295ddecb53047"},
      {"conv2d 1x8x8x1 -> 8x8x16 k3x3 s1 s8*s8", "w1-69aa136635db949ee1e4c94a87283374"},
      {"conv2d 1x8x8x16 -> 4x4x32 k3x3 s2 s8*s8", "w1-60dd6b6259ce0dfb1261cba227b89bb6"},
      {"conv2d 1x4x4x32 -> 4x4x32 k3x3 s1 g32 s8*s8", "w1-d31feb5a7bf2741162fe7bab02550b8a"},
      {"conv2d 1x4x4x32 -> 4x4x32 k1x1 s1 s8*s8 +rounded", "w1-7e12e2afd1fef5561e27d2c6d08ac2a2"},
      {"conv2d 1x4x4x32 -> 2x2x48 k3x3 s2 s8*s8", "w1-11d5f35744ff6a9fcba246a9fb452c6b"},
      {"average_pool 1x2x2x48 -> 1x1x48 k2x2 s1", "w1-98cc787c3c359ca3a8ca9ffc5ed61815"},
      {"dense 1x48 -> 10 s8*s8", "w1-295c7e55a599a679bc70a6dc2e6bf44c"},
      {"dequantize 1x1x1x10 -> 1x1x10", "w1-f1eb76b59ba933050450637c8a66e809"}};
  const std::vector<Task> tasks = extract_tasks(lower(digits()));
  ASSERT_EQ(tasks.size(), golden.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(tasks[i].key, golden[i].second) << golden[i].first;
    EXPECT_EQ(tasks[i].workload.summary(), golden[i].first);
  }
}

TEST(Tasks, EqualWorkloadsShareOne) {
  const Program program = lower(mixed_shapes());
  const std::vector<Task> tasks = extract_tasks(program);
  size_t steps = 0;
  for (const Task& task : tasks) {
    EXPECT_EQ(task.weight, static_cast<int>(task.steps.size()));
    for (size_t step : task.steps) EXPECT_EQ(key(program.steps[step].workload), task.key);
    EXPECT_EQ(task.onnx_nodes, program.steps[task.steps[0]].onnx_nodes);
    steps += task.steps.size();
  }
  EXPECT_EQ(steps, program.steps.size());
}

}  // namespace
}  // namespace warpwright
