// Declared shapes of the inputs.
#include "src/import/input_shapes.h"

#include <set>

#include "src/import/onnx_file.h"

namespace warpwright {

std::map<std::string, Shape> declared_input_shapes(const std::filesystem::path& path) {
  const OnnxFile file = read_onnx(path);
  const onnx::ModelProto& model = file.model;
  std::set<std::string> constants;
  for (const auto& constant : model.graph().initializer()) constants.insert(constant.name());
  std::map<std::string, Shape> shapes;
  for (const auto& input : model.graph().input()) {
    if (constants.contains(input.name())) continue;
    Shape& shape = shapes[input.name()];
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
    }
  }
  return shapes;
}

}  // namespace warpwright
