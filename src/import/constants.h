// Constants of the model file: initializers and Constant nodes, with their data fetched and measured.
#pragma once

#include <filesystem>
#include <string>

#include <onnx/onnx_pb.h>
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

struct OnnxConstant {
  std::string name;
  int type = 0;
  Shape shape;
  std::string bytes;      // little endian, row-major; empty for types that are not read here
  bool readable = false;  // whether `bytes` holds the data

  int64_t size() const;
};

/// Throws UsageError that names the tensor: negative or overflowing dimensions, too little or too much data, external
/// data that is missing, too short or outside `folder`.
OnnxConstant read_constant(const onnx::TensorProto& proto, const std::string& name,
                           const std::filesystem::path& folder);

/// As a tensor of the project. Throws UsageError that names it unless it is f32, s8, u8 or s32.
Tensor to_tensor(const OnnxConstant& constant);
/// Its elements as another type, as Cast does it. Throws UsageError that names it: types that are not read here, values
/// that the type does not hold.
OnnxConstant cast_constant(const OnnxConstant& constant, int type);
/// Throws UsageError that names it unless it is int64.
Shape to_integers(const OnnxConstant& constant);

}  // namespace warpwright
