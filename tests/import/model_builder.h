// Small ONNX models for tests, written to a file and imported from there.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>
#include "src/core/file.h"
#include "src/graph/executor.h"
#include "src/import/import.h"

namespace warpwright {

/// An initializer's element type by the C++ type that stores it.
template <typename T>
constexpr int onnx_type();
template <>
constexpr int onnx_type<float>() {
  return 1;
}
template <>
constexpr int onnx_type<uint8_t>() {
  return 2;
}
template <>
constexpr int onnx_type<int8_t>() {
  return 3;
}
template <>
constexpr int onnx_type<int32_t>() {
  return 6;
}
template <>
constexpr int onnx_type<int64_t>() {
  return 7;
}
template <>
constexpr int onnx_type<bool>() {
  return 9;
}
template <>
constexpr int onnx_type<uint16_t>() {
  return 10;
}  // float16 by its bits

template <typename T>
onnx::TensorProto tensor_proto(const std::string& name, const Shape& shape, const std::vector<T>& values) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx_type<T>());
  for (const int64_t extent : shape) proto.add_dims(extent);
  for (const T value : values) proto.mutable_raw_data()->append(reinterpret_cast<const char*>(&value), sizeof value);
  return proto;
}

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 13);

  void input(const std::string& name, int type, const Shape& shape);
  /// Of a type that the model leaves open where it is 0.
  void output(const std::string& name, int type = 0);
  template <typename T>
  void constant(const std::string& name, const Shape& shape, const std::vector<T>& values) {
    *model_.mutable_graph()->add_initializer() = tensor_proto(name, shape, values);
  }
  /// Named after its first output.
  onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& domain = "");
  onnx::ModelProto& model() { return model_; }

  /// Throws what import and lowering throw.
  Program program() const;
  /// What the refusal says; empty when the model is taken.
  std::string refusal() const;
  /// The only output on the reference.
  Tensor run(const NamedTensors& inputs) const;

 private:
  onnx::ModelProto model_;
};

void set(onnx::NodeProto& node, const std::string& name, int64_t value);
void set(onnx::NodeProto& node, const std::string& name, float value);
void set(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values);
void set(onnx::NodeProto& node, const std::string& name, const onnx::TensorProto& value);

template <typename T>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor tensor(dtype, std::move(shape));
  std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

}  // namespace warpwright
