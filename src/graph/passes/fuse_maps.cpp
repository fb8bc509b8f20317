// Pass: a map that one other map alone reads joins it, so that what lies between never leaves the registers.
#include <algorithm>
#include <set>

#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

constexpr size_t kMostOperands = 8;
constexpr size_t kMostInstructions = 32;

/// `reader` with the computation of `producer` in place of its input `between`.
Node joined(const Node& reader, const Node& producer, TensorId between) {
  Node result = reader;
  result.inputs.clear();
  const auto operand = [&](TensorId id) {
    const auto found = std::find(result.inputs.begin(), result.inputs.end(), id);
    if (found != result.inputs.end()) return static_cast<int>(found - result.inputs.begin());
    result.inputs.push_back(id);
    return static_cast<int>(result.inputs.size()) - 1;
  };
  std::vector<int> of_producer, of_reader;  // new numbers by old ones
  for (const TensorId input : producer.inputs) of_producer.push_back(operand(input));
  for (const TensorId input : reader.inputs) of_reader.push_back(input == between ? -1 : operand(input));
  std::vector<MapInstruction> instructions;
  const auto append = [&](const Node& node, std::vector<int>& numbers) {
    for (MapInstruction instruction : node.workload.map.instructions) {
      for (int& argument : instruction.arguments) argument = numbers[static_cast<size_t>(argument)];
      numbers.push_back(static_cast<int>(result.inputs.size() + instructions.size()));
      instructions.push_back(std::move(instruction));
    }
  };
  append(producer, of_producer);
  std::replace(of_reader.begin(), of_reader.end(), -1, of_producer.back());
  append(reader, of_reader);
  result.workload.map.instructions = std::move(instructions);
  result.onnx_nodes = producer.onnx_nodes;
  append_names(result.onnx_nodes, reader.onnx_nodes);
  return result;
}

class MapFusion {
 public:
  explicit MapFusion(Graph& graph) : graph_(graph), index_(graph), readers_(graph.tensors.size()) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const std::vector<int>& readers = index_.readers(static_cast<TensorId>(i));
      readers_[i].insert(readers.begin(), readers.end());
    }
  }

  /// From the last node up: a reader has taken all it can before its own readers are done with it.
  void run() {
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      while (join_one(static_cast<int>(i))) {
      }
    }
    remove_dead_nodes(graph_);
  }

 private:
  bool join_one(int at) {
    Node& reader = graph_.nodes[static_cast<size_t>(at)];
    if (!reader.is_step(OpKind::map)) return false;
    for (const TensorId input : reader.inputs) {
      const int producer = index_.producer(input);
      if (producer < 0 || !may_join(at, input)) continue;
      const Node& before = graph_.nodes[static_cast<size_t>(producer)];
      Node both = joined(reader, before, input);
      if (both.inputs.size() > kMostOperands || both.workload.map.instructions.size() > kMostInstructions) continue;
      for (const TensorId id : before.inputs) {
        readers_[static_cast<size_t>(id)].erase(producer);
        readers_[static_cast<size_t>(id)].insert(at);
      }
      readers_[static_cast<size_t>(input)].clear();
      reader = std::move(both);
      return true;
    }
    return false;
  }

  /// Nothing but the reader needs the tensor, and nothing would be computed more often than now.
  bool may_join(int reader, TensorId between) const {
    const Node& node = graph_.nodes[static_cast<size_t>(reader)];
    const Node& producer = graph_.nodes[static_cast<size_t>(index_.producer(between))];
    return producer.is_step(OpKind::map) && !index_.is_output(between) &&
           readers_[static_cast<size_t>(between)] == std::set<int>{reader} &&
           graph_.tensor(between).shape == graph_.tensor(node.output).shape;
  }

  Graph& graph_;
  const GraphIndex index_;
  std::vector<std::set<int>> readers_;  // by tensor, as of now
};

}  // namespace

void fuse_maps(Graph& graph) { MapFusion(graph).run(); }

}  // namespace warpwright
