// Shapes of inputs: as the file declares them, with what --shape binds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <onnx/onnx_pb.h>
#include "src/core/tensor.h"
#include "src/import/import.h"

namespace warpwright {

class BoundShapes {
 public:
  explicit BoundShapes(const ShapeBindings& given) : given_(given) {}

  const ShapeBindings& given() const { return given_; }
  /// Of a graph input. Throws UsageError that names it: a dimension that is left open, a shape that does not fit what
  /// is declared, a symbol that is another number in another input.
  Shape bind(const std::string& name, const onnx::TypeProto_Tensor& type);
  /// Nothing where a dimension is neither a number nor a symbol of an input.
  std::optional<Shape> known(const onnx::TensorShapeProto& declared) const;

 private:
  void bind_symbol(const std::string& symbol, int64_t value, const std::string& input);

  const ShapeBindings& given_;
  std::map<std::string, int64_t> symbols_;
};

}  // namespace warpwright
