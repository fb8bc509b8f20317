// Constants of the model file: initializers and Constant nodes, with their data fetched and measured.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>
#include "src/core/file.h"
#include "src/core/tensor.h"

namespace warpwright {

/// ONNX's numbers of the element types that are read here.
enum ElementType : int {
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11
};

/// A constant of the file or one computed from such. Data that lies in a file is read when it is first asked for.
class OnnxConstant {
 public:
  /// Of a type that is not read here: its data cannot be asked for.
  OnnxConstant(std::string name, int type, Shape shape);
  /// `bytes`: little endian, row-major, as many as type and shape need.
  OnnxConstant(std::string name, int type, Shape shape, std::string bytes);
  OnnxConstant(std::string name, int type, Shape shape, FileRange range);

  int64_t size() const { return element_count(shape); }
  bool is_readable() const { return readable_; }
  /// Throws UsageError that names it when it is not readable, or its file no longer holds it.
  const std::string& bytes() const;
  /// Its data into `to`, of as many bytes, without keeping what it reads from a file. Throws as bytes() does.
  void copy_to(std::span<std::byte> to) const;

  std::string name;
  int type = 0;
  Shape shape;

 private:
  bool readable_ = false;
  mutable std::string bytes_;
  mutable std::optional<FileRange> range_;  // where they lie while bytes_ does not hold them
};

/// Elements of a constant of the C++ type that stores them.
template <typename T>
std::vector<T> elements(const OnnxConstant& constant) {
  std::vector<T> values(static_cast<size_t>(constant.size()));
  constant.copy_to(std::as_writable_bytes(std::span(values)));
  return values;
}
template <typename T>
OnnxConstant make_constant(int type, Shape shape, const std::vector<T>& values) {
  return {"", type, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

/// Bytes of an element; 0 for types that are not read here.
size_t element_bytes(int type);

/// Throws UsageError that names the tensor: negative or overflowing dimensions, too little or too much data, external
/// data that is missing, too short or outside `folder`. `raw_data`: where the model file holds its data, if it does.
OnnxConstant read_constant(const onnx::TensorProto& proto, const std::string& name, const std::filesystem::path& folder,
                           const std::optional<FileRange>& raw_data = std::nullopt);

/// What a node Constant holds. Throws UsageError as read_constant does, and for forms of values that are not read.
OnnxConstant constant_of_node(const onnx::NodeProto& node, const std::filesystem::path& folder);

/// The element type of ONNX's number; nothing for types that tensors cannot have here.
std::optional<DType> dtype_of(int type);
/// As a tensor of the project. Throws UsageError that names it unless its type is one of the project's.
Tensor to_tensor(const OnnxConstant& constant);
/// Its elements as another type, as Cast does it. Throws UsageError that names it: types that are not read here,
/// floating-point numbers that an integer type does not hold.
OnnxConstant cast_constant(const OnnxConstant& constant, int type);
/// Of float16, float32 or float64 as float32. Throws UsageError that names it: another type, a float64 that float32
/// does not hold exactly.
std::vector<float> to_reals(const OnnxConstant& constant);
/// Throws UsageError that names it unless it is int64.
Shape to_integers(const OnnxConstant& constant);

}  // namespace warpwright
