// Building small ONNX models.
#include "tests/import/model_builder.h"

#include <stdexcept>

#include "src/core/error.h"
#include "src/graph/lowering.h"

namespace warpwright {

namespace {

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name, int type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(static_cast<onnx::AttributeProto_AttributeType>(type));
  return attribute;
}

}  // namespace

ModelBuilder::ModelBuilder(int64_t opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  onnx::OperatorSetIdProto& microsoft = *model_.add_opset_import();
  microsoft.set_domain("com.microsoft");
  microsoft.set_version(1);
}

void ModelBuilder::input(const std::string& name, int type, const Shape& shape) {
  onnx::ValueInfoProto& info = *model_.mutable_graph()->add_input();
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const int64_t extent : shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

void ModelBuilder::output(const std::string& name, int type) {
  onnx::ValueInfoProto& output = *model_.mutable_graph()->add_output();
  output.set_name(name);
  if (type != 0) output.mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

onnx::NodeProto& ModelBuilder::node(const std::string& op_type, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, const std::string& domain) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_domain(domain);
  node.set_name("node_" + outputs.at(0));
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

Program ModelBuilder::program() const {
  const TemporaryFolder folder;
  write_file(folder.path() / "model.onnx", model_.SerializeAsString());
  return lower(import_onnx(folder.path() / "model.onnx", {}));
}

std::string ModelBuilder::refusal() const {
  try {
    program();
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

Tensor ModelBuilder::run(const NamedTensors& inputs) const {
  const NamedTensors outputs = run_on_reference(program(), inputs);
  if (outputs.size() != 1) throw std::logic_error("one output expected");
  return outputs.begin()->second;
}

void set(onnx::NodeProto& node, const std::string& name, int64_t value) {
  add_attribute(node, name, onnx::AttributeProto_AttributeType_INT).set_i(value);
}

void set(onnx::NodeProto& node, const std::string& name, float value) {
  add_attribute(node, name, onnx::AttributeProto_AttributeType_FLOAT).set_f(value);
}

void set(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& attribute = add_attribute(node, name, onnx::AttributeProto_AttributeType_INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

void set(onnx::NodeProto& node, const std::string& name, const onnx::TensorProto& value) {
  *add_attribute(node, name, onnx::AttributeProto_AttributeType_TENSOR).mutable_t() = value;
}

}  // namespace warpwright
