// What the operators share: tensors by name, placing nodes, reading scales.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/import/onnx_file.h"
#include "src/import/operators.h"

namespace warpwright {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;

std::vector<float> read_scales(const OnnxConstant& scale) {
  std::vector<float> values = to_reals(scale);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > 0) || !std::isfinite(values[i])) {
      throw UsageError(fmt::format("scale \"{}\", element {}, is {}: a scale must be positive and finite", scale.name,
                                   i, values[i]));
    }
  }
  return values;
}

/// The axis that values of a quantization lie along: that of the operator for a list; for a tensor of as many
/// dimensions as the codes the one that is not 1. Throws UsageError when they do not fit `shape`.
int64_t axis_of(const OnnxConstant& values, const char* what, int64_t axis, const std::string& codes_name,
                const Shape& shape) {
  if (values.shape.size() > 1) {
    axis = std::find_if(values.shape.begin(), values.shape.end(), [](int64_t extent) { return extent != 1; }) -
           values.shape.begin();
    if (values.shape.size() != shape.size() || values.shape[static_cast<size_t>(axis)] != values.size()) {
      throw UsageError(
          fmt::format("{} \"{}\" has the shape {}: one value for \"{}\" or one for each index of a "
                      "dimension is supported",
                      what, values.name, to_text(values.shape), codes_name));
    }
  }
  axis = normalized_axis(axis, shape.size());
  if (shape[static_cast<size_t>(axis)] != values.size()) {
    throw UsageError(fmt::format("{} \"{}\" has {} elements, dimension {} of \"{}\" is {}", what, values.name,
                                 values.size(), axis, codes_name, shape[static_cast<size_t>(axis)]));
  }
  return axis;
}

DType code_type(const OnnxConstant& zero_point) {
  switch (zero_point.type) {
    case kUint8:
      return DType::u8;
    case kInt8:
      return DType::s8;
    case kInt32:
      return DType::s32;
    default:
      throw UsageError(
          fmt::format("zero point \"{}\" is {}: only int8, uint8 and, for biases, int32 codes are supported",
                      zero_point.name, element_type_name(zero_point.type)));
  }
}

std::vector<int32_t> read_zero_points(const OnnxConstant& constant) {
  const Tensor tensor = to_tensor(constant);
  std::vector<int32_t> values;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    values.push_back(tensor.dtype == DType::u8   ? tensor.as<uint8_t>()[at]
                     : tensor.dtype == DType::s8 ? tensor.as<int8_t>()[at]
                                                 : tensor.as<int32_t>()[at]);
  }
  return values;
}

}  // namespace

void ImportedTensors::add_constant(OnnxConstant constant) {
  const bool is_half = constant.is_readable() && constant.type == kFloat16;
  storage_.push_back(is_half ? cast_constant(constant, kFloat32) : std::move(constant));
  constants_[storage_.back().name] = &storage_.back();
}

ImportedTensors::Meaning ImportedTensors::meaning(const std::string& name) const {
  const auto found = ids_.find(name);
  return {found == ids_.end() ? std::nullopt : std::optional(found->second), constant(name)};
}

void ImportedTensors::set_meaning(const std::string& name, const Meaning& meaning) {
  if (name.empty()) return;
  forget(name);
  if (meaning.id) ids_[name] = *meaning.id;
  if (meaning.constant) constants_[name] = meaning.constant;
}

const OnnxConstant* ImportedTensors::constant(const std::string& name) const {
  auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

const Shape& ImportedTensors::shape(const std::string& name) const {
  if (const OnnxConstant* found = constant(name)) return found->shape;
  return graph_.tensor(ids_.at(name)).shape;
}

TensorId ImportedTensors::id(const std::string& name) {
  if (auto found = ids_.find(name); found != ids_.end()) return found->second;
  const OnnxConstant& constant = *constants_.at(name);
  Tensor tensor = to_tensor(constant);
  check_shape(tensor.shape);
  const TensorId id = graph_.add_tensor(name, tensor.dtype, tensor.shape);
  graph_.tensor(id).constant = std::move(tensor);
  ids_[name] = id;
  return id;
}

bool ImportedTensors::is_derived_from_constants(TensorId id) const {
  return graph_.is_constant(id) || derived_.count(id) > 0;
}

bool OperatorContext::has_input(int index) const { return index < node_.input_size() && !node_.input(index).empty(); }

std::string OperatorContext::input_name(int index) const {
  return index < node_.input_size() ? node_.input(index) : std::string();
}

TensorId OperatorContext::input(int index) {
  if (!has_input(index)) throw UsageError(fmt::format("input {} is missing", index));
  return tensors_.id(node_.input(index));
}

const OnnxConstant* OperatorContext::constant_input(int index) const {
  return has_input(index) ? tensors_.constant(node_.input(index)) : nullptr;
}

float OperatorContext::constant_real(int index) const {
  const OnnxConstant* constant = constant_input(index);
  if (!constant || constant->type != kFloat32 || constant->size() != 1) {
    throw UsageError(fmt::format("input {} (\"{}\") must be one constant float32", index, input_name(index)));
  }
  return elements<float>(*constant)[0];
}

void OperatorContext::require_inputs(int least, int most) const {
  if (node_.input_size() > most)
    throw UsageError(fmt::format("{} inputs, at most {} expected", node_.input_size(), most));
  for (int i = 0; i < least; ++i) {
    if (!has_input(i)) throw UsageError(fmt::format("input {} is missing", i));
  }
}

TensorId OperatorContext::add(Node node, std::vector<TensorId> inputs, TensorId output) {
  bool derived = true;
  for (TensorId input : inputs) derived &= input == kNoTensor || tensors_.is_derived_from_constants(input);
  if (derived) tensors_.mark_derived(output);
  node.name = display_name(node_);
  node.onnx_nodes = {node.name};
  node.inputs = std::move(inputs);
  node.output = output;
  graph.nodes.push_back(std::move(node));
  return output;
}

void OperatorContext::finish(Node node, std::vector<TensorId> inputs, DType dtype, Shape shape, int output) {
  check_shape(shape);
  const std::string& name = node_.output(output);
  if (name.empty()) return;
  const TensorId id = graph.add_tensor(name, dtype, std::move(shape));
  tensors_.add(name, add(std::move(node), std::move(inputs), id));
}

TensorId OperatorContext::output_tensor(int index) const {
  const std::string& name = node_.output(index);
  return name.empty() ? kNoTensor : tensors_.id(name);
}

void OperatorContext::finish_constant(OnnxConstant constant) {
  constant.name = node_.output(0);
  tensors_.add_constant(std::move(constant));
}

TensorId OperatorContext::add_inner(Node node, std::vector<TensorId> inputs, DType dtype, Shape shape,
                                    const std::string& suffix) {
  check_shape(shape);
  const TensorId output = graph.add_tensor(display_name(node_) + "/" + suffix, dtype, std::move(shape));
  return add(std::move(node), std::move(inputs), output);
}

void OperatorContext::finish_alias() {
  if (constant_input(0)) return tensors_.set_meaning(node_.output(0), tensors_.meaning(node_.input(0)));
  Node node;
  node.kind = NodeKind::identity;
  const GraphTensor& x = input_tensor(0);
  finish(std::move(node), {input(0)}, x.dtype, Shape(x.shape));
}

void OperatorContext::require_constant(TensorId id, const std::string& what) const {
  if (!tensors_.is_derived_from_constants(id)) {
    throw UsageError(fmt::format("{} \"{}\" is no constant, which is not supported", what, graph.tensor(id).name));
  }
}

Quantization OperatorContext::quantization(int scale_input, int zero_point_input, std::optional<DType> codes,
                                           int64_t axis, const std::string& codes_name, const Shape& shape) const {
  Quantization result;
  const OnnxConstant* scale = constant_input(scale_input);
  if (!scale) throw UsageError(fmt::format("scale \"{}\" is no constant", input_name(scale_input)));
  result.scale = read_scales(*scale);
  const OnnxConstant* zero_point = constant_input(zero_point_input);
  if (has_input(zero_point_input) && !zero_point) {
    throw UsageError(fmt::format("zero point \"{}\" is no constant", input_name(zero_point_input)));
  }
  result.zero_point.assign(result.scale.size(), 0);
  result.dtype = codes.value_or(zero_point ? code_type(*zero_point) : DType::u8);
  if (zero_point) {
    if (result.dtype != code_type(*zero_point)) {
      throw UsageError(fmt::format("\"{}\" is {}, its zero point \"{}\" is {}", codes_name, name(result.dtype),
                                   zero_point->name, element_type_name(zero_point->type)));
    }
    const auto values = read_zero_points(*zero_point);
    if (values.size() != result.scale.size() || (zero_point->shape.size() > 1 && zero_point->shape != scale->shape)) {
      throw UsageError(fmt::format("zero point \"{}\" has {} elements, scale \"{}\" has {}", zero_point->name,
                                   values.size(), scale->name, result.scale.size()));
    }
    result.zero_point = values;
  }
  if (!result.per_tensor()) result.axis = axis_of(*scale, "scale", axis, codes_name, shape);
  return result;
}

Quantization OperatorContext::unit_quantization(int zero_point_input, DType codes, int64_t axis,
                                                const std::string& codes_name, const Shape& shape) const {
  Quantization result;
  result.dtype = codes;
  if (!has_input(zero_point_input)) return result;
  const OnnxConstant* zero_point = constant_input(zero_point_input);
  if (!zero_point) throw UsageError(fmt::format("zero point \"{}\" is no constant", input_name(zero_point_input)));
  if (code_type(*zero_point) != codes) {
    throw UsageError(fmt::format("\"{}\" is {}, its zero point \"{}\" is {}", codes_name, name(codes), zero_point->name,
                                 element_type_name(zero_point->type)));
  }
  result.zero_point = read_zero_points(*zero_point);
  result.scale.assign(result.zero_point.size(), 1.0f);
  if (result.per_tensor()) return result;
  result.axis = axis_of(*zero_point, "zero point", axis, codes_name, shape);
  return result;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t extent_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t extent_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (extent_a != extent_b && extent_a != 1 && extent_b != 1) {
      throw UsageError(fmt::format("shapes {} and {} do not broadcast", to_text(a), to_text(b)));
    }
    result[result.size() - 1 - i] = extent_a == 1 ? extent_b : extent_a;
  }
  return result;
}

void check_shape(const Shape& shape) {
  if (shape.size() > 8) throw UsageError(fmt::format("{} dimensions", shape.size()));
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 1) throw UsageError(fmt::format("shape {}: every extent must be positive", to_text(shape)));
    if (__builtin_mul_overflow(count, extent, &count) || count > kMostElements) {
      throw UsageError(fmt::format("shape {} is too large", to_text(shape)));
    }
  }
}

int64_t normalized_axis(int64_t axis, size_t rank) {
  const auto extent = static_cast<int64_t>(rank);
  if (axis < -extent || axis >= extent) throw UsageError(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  return axis < 0 ? axis + extent : axis;
}

void require_real(const GraphTensor& tensor) {
  if (tensor.dtype != DType::f32) {
    throw UsageError(fmt::format("\"{}\" is {}, where float32 is needed", tensor.name, name(tensor.dtype)));
  }
}

}  // namespace warpwright
