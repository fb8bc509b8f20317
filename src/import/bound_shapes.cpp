// Binding of dynamic dimensions and their symbols.
#include "src/import/bound_shapes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

#include "src/core/error.h"

namespace warpwright {

namespace {

std::string declared_text(const onnx::TensorShapeProto& shape) {
  std::vector<std::string> dims;
  for (const auto& dim : shape.dim()) {
    dims.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                   : dim.dim_param().empty() ? "?"
                                             : dim.dim_param());
  }
  return fmt::format("[{}]", fmt::join(dims, ","));
}

[[noreturn]] void refuse_dynamic(const std::string& name, const onnx::TensorShapeProto& shape) {
  std::vector<std::string> example;
  for (const auto& dim : shape.dim()) {
    example.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? std::to_string(dim.dim_value()) : "1");
  }
  throw UsageError(fmt::format("graph input \"{}\" has the dynamic shape {}: bind it with --shape {}={}", name,
                               declared_text(shape), name, fmt::join(example, ",")));
}

/// Exporters write `?` and `-1` for any extent, whatever the others are.
bool is_symbol(const std::string& text) { return !text.empty() && text != "?" && text != "-1"; }

}  // namespace

Shape BoundShapes::bind(const std::string& name, const onnx::TypeProto_Tensor& type) {
  const auto bound = given_.find(name);
  if (!type.has_shape()) {
    if (bound != given_.end()) return bound->second;
    throw UsageError(fmt::format("graph input \"{}\" has no shape: bind it with --shape {}=...", name, name));
  }
  const auto& declared = type.shape();
  if (bound == given_.end()) {
    Shape shape;
    for (const auto& dim : declared.dim()) {
      if (!dim.has_dim_value()) refuse_dynamic(name, declared);
      shape.push_back(dim.dim_value());
    }
    return shape;
  }
  bool fits = static_cast<int>(bound->second.size()) == declared.dim_size();
  for (int i = 0; fits && i < declared.dim_size(); ++i) {
    const auto& dim = declared.dim(i);
    const int64_t value = bound->second[static_cast<size_t>(i)];
    if (dim.has_dim_value()) fits = dim.dim_value() == value;
    if (is_symbol(dim.dim_param())) bind_symbol(dim.dim_param(), value, name);
  }
  if (!fits) {
    throw UsageError(fmt::format("--shape {}={} does not fit the model's shape {}", name, fmt::join(bound->second, ","),
                                 declared_text(declared)));
  }
  return bound->second;
}

void BoundShapes::bind_symbol(const std::string& symbol, int64_t value, const std::string& input) {
  const auto [at, fresh] = symbols_.emplace(symbol, value);
  if (!fresh && at->second != value) {
    throw UsageError(
        fmt::format("--shape {}: dimension {} is {} here and {} in another input", input, symbol, value, at->second));
  }
}

std::optional<Shape> BoundShapes::known(const onnx::TensorShapeProto& declared) const {
  Shape shape;
  for (const auto& dim : declared.dim()) {
    const auto bound = symbols_.find(dim.dim_param());
    if (!dim.has_dim_value() && bound == symbols_.end()) return std::nullopt;
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : bound->second);
  }
  return shape;
}

}  // namespace warpwright
