// Mutation of what the graph of a model means.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "tests/fuzz/harness/model_mutation.h"

namespace warpwright::testing {

namespace {

/// A random element of a repeated field, which must not be empty.
template <typename Field>
auto& any_in(Field& field, Draw& draw) {
  return *field.Mutable(static_cast<int>(draw.between(0, field.size() - 1)));
}

std::vector<std::string> tensor_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& item : graph.input()) names.push_back(item.name());
  for (const auto& item : graph.initializer()) names.push_back(item.name());
  for (const auto& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
  if (names.empty()) names.emplace_back();
  return names;
}

std::string any_tensor(const onnx::GraphProto& graph, Draw& draw) {
  const auto names = tensor_names(graph);
  return names[static_cast<size_t>(draw.between(0, std::ssize(names) - 1))];
}

const onnx::NodeProto& any_seed_node(const SeedModels& seeds, Draw& draw) {
  static const onnx::NodeProto kNone;
  const auto& graph = seeds.any(draw).graph();
  return graph.node_size() == 0 ? kNone : graph.node(static_cast<int>(draw.between(0, graph.node_size() - 1)));
}

void rewire(onnx::GraphProto& graph, Draw& draw) {
  if (graph.node_size() == 0) return;
  auto& node = any_in(*graph.mutable_node(), draw);
  if (node.input_size() == 0) return;
  any_in(*node.mutable_input(), draw) = any_tensor(graph, draw);
}

/// Another operator on the same tensors.
void replace_operator(onnx::GraphProto& graph, const SeedModels& seeds, Draw& draw) {
  if (graph.node_size() == 0) return;
  auto& node = any_in(*graph.mutable_node(), draw);
  const auto& other = any_seed_node(seeds, draw);
  node.set_op_type(other.op_type());
  node.set_domain(other.domain());
  if (draw.chance(70)) *node.mutable_attribute() = other.attribute();
}

/// A node of any seed between a tensor and its readers, or as an output of the graph.
void insert_node(onnx::GraphProto& graph, const SeedModels& seeds, Draw& draw) {
  onnx::NodeProto node = any_seed_node(seeds, draw);
  const std::string source = any_tensor(graph, draw);
  const std::string result = "inserted" + std::to_string(graph.node_size());
  for (int i = 0; i < node.input_size(); ++i) {
    if (!node.input(i).empty()) node.set_input(i, i == 0 ? source : any_tensor(graph, draw));
  }
  node.clear_output();
  node.add_output(result);
  node.set_name(result);
  for (auto& reader : *graph.mutable_node()) {
    for (auto& input : *reader.mutable_input()) {
      if (input == source && draw.chance(70)) input = result;
    }
  }
  *graph.add_node() = node;
  if (draw.chance(30)) graph.add_output()->set_name(result);
}

void drop_node(onnx::GraphProto& graph, Draw& draw) {
  if (graph.node_size() == 0) return;
  const int index = static_cast<int>(draw.between(0, graph.node_size() - 1));
  const onnx::NodeProto gone = graph.node(index);
  graph.mutable_node()->DeleteSubrange(index, 1);
  if (gone.input_size() == 0 || gone.output_size() == 0) return;
  for (auto& reader : *graph.mutable_node()) {  // its readers read what it read
    for (auto& input : *reader.mutable_input()) {
      if (input == gone.output(0)) input = gone.input(0);
    }
  }
}

int element_bytes(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
      return 4;
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::DOUBLE:
      return 8;
    default:
      return 1;
  }
}

/// Another shape, with the bytes that it needs, so that the reader goes on.
void reshape_constant(onnx::TensorProto& tensor, Draw& draw) {
  if (draw.chance(50) && tensor.dims_size() > 0) {
    any_in(*tensor.mutable_dims(), draw) = draw.between(0, 8);
  } else {
    tensor.clear_dims();
    for (int64_t rank = draw.between(0, 5); rank > 0; --rank) tensor.add_dims(draw.between(draw.chance(5) ? 0 : 1, 5));
  }
  if (draw.chance(20)) tensor.set_data_type(draw.one_of<int>({1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 21, 22}));
  int64_t elements = 1;
  for (int64_t extent : tensor.dims()) elements *= std::clamp<int64_t>(extent, 0, 64);
  elements = std::min<int64_t>(elements, 1 << 14);
  const int type = tensor.data_type();
  std::string old = tensor.raw_data();
  if (old.empty()) old.assign(8, '\1');
  std::string bytes(static_cast<size_t>(elements * element_bytes(type)), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = old[i % old.size()];
  const std::string name = tensor.name();
  for (auto* field : {tensor.mutable_int32_data()}) field->Clear();
  tensor.clear_float_data();
  tensor.clear_int64_data();
  tensor.set_raw_data(bytes);
}

/// Contents that arithmetic seldom meets: shapes, axes, scales and zero points are constants too.
void refill_constant(onnx::TensorProto& tensor, Draw& draw) {
  std::string& bytes = *tensor.mutable_raw_data();
  const auto width = static_cast<size_t>(element_bytes(tensor.data_type()));
  if (bytes.size() < width) return;
  const auto count = static_cast<int64_t>(bytes.size() / width);
  for (int64_t changes = draw.between(1, 3); changes > 0; --changes) {
    const auto at = static_cast<size_t>(draw.between(0, count - 1)) * width;
    if (tensor.data_type() == onnx::TensorProto::FLOAT) {
      const auto value = draw.one_of<float>({0.0f, -1.0f, 1e-45f, 1e-30f, 1e30f, 3e38f, INFINITY, NAN, 0.5f, 1.0f});
      std::memcpy(bytes.data() + at, &value, width);
    } else {
      const int64_t value = odd_integer(draw);
      std::memcpy(bytes.data() + at, &value, width);
    }
  }
}

void move_outside(onnx::TensorProto& tensor, Draw& draw) {
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  if (draw.chance(80)) tensor.clear_raw_data();
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  const char* usual = kExternalFile;
  add("location", draw.chance(60) ? usual
                                  : draw.one_of<const char*>({"../weights.bin", "/etc/passwd", "/dev/zero", ".", "..",
                                                              "", "./weights.bin", "a/../weights.bin", "missing",
                                                              "/proc/self/mem", "weights.bin/"}));
  const auto number = [&] {
    return draw.chance(50)   ? std::to_string(draw.between(0, kExternalBytes + 8))
           : draw.chance(80) ? std::to_string(odd_integer(draw))
                             : draw.one_of<const char*>({"", "x", "1e3", "0x10", "99999999999999999999", " 4", "-1"});
  };
  if (draw.chance(70)) add("offset", number());
  if (draw.chance(70)) add("length", number());
  if (draw.chance(10)) add("checksum", "x");
}

void mutate_constant(onnx::GraphProto& graph, Draw& draw) {
  if (graph.initializer_size() == 0) return;
  auto& tensor = any_in(*graph.mutable_initializer(), draw);
  switch (draw.between(0, 3)) {
    case 0:
      return reshape_constant(tensor, draw);
    case 1:
      return move_outside(tensor, draw);
    default:
      return refill_constant(tensor, draw);
  }
}

void mutate_input_shape(onnx::GraphProto& graph, Draw& draw) {
  if (graph.input_size() == 0) return;
  auto& type = *any_in(*graph.mutable_input(), draw).mutable_type()->mutable_tensor_type();
  auto& dims = *type.mutable_shape()->mutable_dim();
  if (dims.empty() || draw.chance(10)) return dims.Add()->set_dim_value(odd_integer(draw));
  auto& dim = any_in(dims, draw);
  if (draw.chance(10)) return dim.set_dim_param("N");
  dim.set_dim_value(draw.chance(60) ? draw.between(1, 40) : odd_integer(draw));
  if (draw.chance(10)) type.set_elem_type(static_cast<int>(draw.between(0, 23)));
}

void mutate_attribute(onnx::GraphProto& graph, const SeedModels& seeds, Draw& draw) {
  if (graph.node_size() == 0) return;
  auto& node = any_in(*graph.mutable_node(), draw);
  if (node.attribute_size() == 0 || draw.chance(20)) {
    const auto& other = any_seed_node(seeds, draw);
    if (other.attribute_size() > 0) {
      *node.add_attribute() = other.attribute(static_cast<int>(draw.between(0, other.attribute_size() - 1)));
    }
    return;
  }
  auto& attribute = any_in(*node.mutable_attribute(), draw);
  if (attribute.ints_size() > 0) {
    any_in(*attribute.mutable_ints(), draw) = odd_integer(draw);
    if (draw.chance(15)) attribute.add_ints(odd_integer(draw));
  } else if (attribute.type() == onnx::AttributeProto::FLOAT) {
    attribute.set_f(draw.one_of<float>({0.0f, -1.0f, 1e30f, INFINITY, NAN, 0.5f}));
  } else {
    attribute.set_i(odd_integer(draw));
  }
}

}  // namespace

void mutate_graph(onnx::ModelProto& model, const SeedModels& seeds, Draw& draw) {
  onnx::GraphProto& graph = *model.mutable_graph();
  switch (draw.between(0, 9)) {
    case 0:
      return rewire(graph, draw);
    case 1:
      return replace_operator(graph, seeds, draw);
    case 2:
      return insert_node(graph, seeds, draw);
    case 3:
      return drop_node(graph, draw);
    case 4:
    case 5:
      return mutate_constant(graph, draw);
    case 6:
      return mutate_input_shape(graph, draw);
    case 7:
    case 8:
      return mutate_attribute(graph, seeds, draw);
    default:
      if (draw.chance(50)) return graph.add_output()->set_name(any_tensor(graph, draw));
      if (model.opset_import_size() > 0) model.mutable_opset_import(0)->set_version(draw.between(5, 27));
  }
}

}  // namespace warpwright::testing
