// QuantizeLinear and DequantizeLinear; Identity, Dropout, Cast.
#include <fmt/core.h>

#include "src/core/error.h"
#include "src/import/onnx_file.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

void refuse_blocks(OperatorContext& context) {
  if (context.attributes.integer("block_size", 0) != 0) throw UsageError("block_size is not supported");
}

int64_t read_axis(OperatorContext& context) { return context.attributes.integer("axis", 1); }

/// Whether scale or zero point come from the graph's inputs: such a node is a formula in float32.
bool is_of_run_time(const OperatorContext& context) {
  return !context.constant_input(1) || (context.has_input(2) && !context.constant_input(2));
}

Term values_along(OperatorContext& context, Formula& formula, int input, int64_t axis, const Shape& shape) {
  return formula.tensor(spread_along(context, context.input(input), shape, axis, input == 1 ? "scale" : "zero point"));
}

void quantize_at_run_time(OperatorContext& context, std::optional<DType> codes, int64_t axis) {
  const Shape shape = context.input_tensor(0).shape;
  DType dtype = codes.value_or(DType::u8);
  Formula formula(context.graph);
  const Term scale = values_along(context, formula, 1, axis, shape);
  Term zero_point = formula.integer(DType::s32, 0);
  if (context.has_input(2)) {
    const GraphTensor& given = context.input_tensor(2);
    if (!is_code(given.dtype) || given.dtype != codes.value_or(given.dtype)) {
      throw UsageError(fmt::format("zero point \"{}\" is {}", given.name, name(given.dtype)));
    }
    dtype = given.dtype;
    zero_point = converted(values_along(context, formula, 2, axis, shape), DType::s32);
  }
  const Term lo = converted(formula.integer(DType::s32, code_min(dtype)) - zero_point, DType::f32);
  const Term hi = converted(formula.integer(DType::s32, code_max(dtype)) - zero_point, DType::f32);
  const Term steps = minimum(maximum(formula.tensor(context.input(0)) / scale, lo), hi);
  const Term code = converted(formula.apply(MapOp::round, {steps}), DType::s32) + zero_point;
  finish_formula(context, formula, converted(code, dtype));
}

void dequantize_at_run_time(OperatorContext& context, int64_t axis) {
  const GraphTensor& x = context.input_tensor(0);
  const DType dtype = x.dtype;
  const Shape shape = x.shape;
  Formula formula(context.graph);
  Term centred = converted(formula.tensor(context.input(0)), DType::s32);
  if (context.has_input(2)) {
    const GraphTensor& given = context.input_tensor(2);
    if (given.dtype != dtype) {
      throw UsageError(
          fmt::format("zero point \"{}\" is {}, the codes are {}", given.name, name(given.dtype), name(dtype)));
    }
    centred = centred - converted(values_along(context, formula, 2, axis, shape), DType::s32);
  }
  const Term scale = values_along(context, formula, 1, axis, shape);
  finish_formula(context, formula, converted(centred, DType::f32) * scale);
}

}  // namespace

Node quantize_node(const Quantization& quantization) {
  Node node;
  node.kind = NodeKind::quantize;
  node.quantization = quantization;
  return node;
}

Node dequantize_node(const Quantization& quantization) {
  Node node = quantize_node(quantization);
  node.kind = NodeKind::dequantize;
  return node;
}

void import_quantize_linear(OperatorContext& context) {
  context.require_inputs(2, 3);
  refuse_blocks(context);
  const int64_t precision = context.attributes.integer("precision", 0);
  if (precision > kFloat32) {
    throw UsageError("a division in another precision than float32 is not supported");
  }
  context.attributes.ignore("saturate");  // means nothing for 8-bit integers
  const GraphTensor& x = context.input_tensor(0);
  require_real(x);
  const int64_t output_dtype = context.attributes.integer("output_dtype", 0);
  std::optional<DType> codes;
  if (output_dtype == kUint8) codes = DType::u8;
  if (output_dtype == kInt8) codes = DType::s8;
  if (output_dtype != 0 && !codes) {
    throw UsageError(fmt::format("{} codes are not supported", element_type_name(static_cast<int>(output_dtype))));
  }
  if (is_of_run_time(context)) return quantize_at_run_time(context, codes, read_axis(context));
  Quantization quantization = context.quantization(1, 2, codes, read_axis(context), x.name, x.shape);
  if (!is_code(quantization.dtype)) throw UsageError("int32 codes are not supported");
  const DType dtype = quantization.dtype;
  context.finish(quantize_node(quantization), {context.input(0)}, dtype, Shape(x.shape));
}

void import_dequantize_linear(OperatorContext& context) {
  context.require_inputs(2, 3);
  refuse_blocks(context);
  const int64_t output_dtype = context.attributes.integer("output_dtype", 0);
  if (output_dtype != 0 && output_dtype != kFloat32 && output_dtype != kFloat16) {
    throw UsageError(
        fmt::format("its output is {}, which is not supported", element_type_name(static_cast<int>(output_dtype))));
  }
  if (const OnnxConstant* codes = context.constant_input(0); codes && !codes->is_readable()) {
    throw UsageError(
        fmt::format("\"{}\" has {} codes, which are not supported", codes->name, element_type_name(codes->type)));
  }
  const GraphTensor& x = context.input_tensor(0);
  if (x.dtype == DType::f32) throw UsageError(fmt::format("\"{}\" is float32, where codes are needed", x.name));
  if (is_of_run_time(context)) return dequantize_at_run_time(context, read_axis(context));
  Quantization quantization = context.quantization(1, 2, x.dtype, read_axis(context), x.name, x.shape);
  context.finish(dequantize_node(quantization), {context.input(0)}, DType::f32, Shape(x.shape));
}

void import_identity(OperatorContext& context) {
  context.require_inputs(1, 1);
  context.finish_alias();
}

void import_dropout(OperatorContext& context) {
  context.require_inputs(1, 3);
  context.attributes.ignore("ratio");
  context.attributes.ignore("seed");
  if (context.has_input(2)) {
    const OnnxConstant* training = context.constant_input(2);
    if (!training || training->type != kBool || training->size() != 1) {
      throw UsageError("training_mode must be one constant bool");
    }
    if (training->bytes()[0] != 0) throw UsageError("training_mode is not supported");
  }
  context.finish_alias();
}

namespace {

/// Integers as codes by their lowest 8 bits, as two's complement keeps them.
Term lowest_bits(Term x, DType codes) {
  const auto number = [&](int64_t value) { return x.formula->integer(DType::s32, value); };
  const Term whole = converted(x, DType::s32);
  const auto rest = [&](Term of) { return x.formula->apply(MapOp::modulo, {of, number(256)}); };
  const Term kept = codes == DType::u8 ? rest(whole) : rest(whole + number(128)) - number(128);
  return converted(kept, codes);
}

/// From a type to itself nothing; from codes to float32 a DequantizeLinear of scale 1.
void finish_cast(OperatorContext& context, DType dtype) {
  const GraphTensor& x = context.input_tensor(0);
  if (x.dtype == dtype) return context.finish_alias();
  if (is_code(x.dtype) && dtype == DType::f32) {
    Quantization quantization;
    quantization.dtype = x.dtype;
    return context.finish(dequantize_node(quantization), {context.input(0)}, DType::f32, Shape(x.shape));
  }
  Formula formula(context.graph);
  const bool narrows = is_code(dtype) && (is_code(x.dtype) || x.dtype == DType::s32 || x.dtype == DType::s64);
  const Term term = formula.tensor(context.input(0));
  finish_formula(context, formula, narrows ? lowest_bits(term, dtype) : converted(term, dtype));
}

/// To float16: the values are rounded; what computes with them does so in float32.
void finish_half_cast(OperatorContext& context) {
  Formula formula(context.graph);
  const Term half = converted(converted(formula.tensor(context.input(0)), DType::f32), DType::f16);
  finish_formula(context, formula, converted(half, DType::f32));
}

}  // namespace

void import_cast(OperatorContext& context) {
  context.require_inputs(1, 1);
  context.attributes.ignore("saturate");  // of float8 alone
  context.attributes.ignore("round_mode");
  const auto type = static_cast<int>(context.attributes.integer("to", 0));
  if (const OnnxConstant* constant = context.constant_input(0)) {
    return context.finish_constant(cast_constant(*constant, type));
  }
  if (type == kFloat16) return finish_half_cast(context);
  const GraphTensor& x = context.input_tensor(0);
  const auto dtype = dtype_of(type);
  if (!dtype) throw UsageError(fmt::format("from {} to {} is not supported", name(x.dtype), element_type_name(type)));
  finish_cast(context, *dtype);
}

void import_cast_like(OperatorContext& context) {
  context.require_inputs(2, 2);
  context.attributes.ignore("saturate");
  context.attributes.ignore("round_mode");
  const OnnxConstant* like = context.constant_input(1);
  const auto dtype = like ? dtype_of(like->type) : context.input_tensor(1).dtype;
  if (!dtype) throw UsageError(fmt::format("to {} is not supported", element_type_name(like->type)));
  finish_cast(context, *dtype);
}

/// The smallest and largest of x and 0 go to the ends of u8: scale = (largest - smallest) / 255, zero point =
/// rne(clamp(-smallest / scale)), y = saturated(rne(x / scale) + zero point). Of zeros alone the scale is 1.
void import_dynamic_quantize_linear(OperatorContext& context) {
  context.require_inputs(1, 1);
  const TensorId x = context.input(0);
  require_real(context.graph.tensor(x));
  const int64_t elements = element_count(context.graph.tensor(x).shape);
  const TensorId row = reshaped(context, x, {elements}, "row");
  const auto extreme = [&](ReductionOp op, const char* suffix) {
    return reshaped(context, reduced(context, row, {0}, op, suffix), {}, std::string(suffix) + "_scalar");
  };
  const TensorId largest = extreme(ReductionOp::max, "largest"), smallest = extreme(ReductionOp::min, "smallest");
  Formula of_scale(context.graph);
  const Term top = maximum(of_scale.tensor(largest), of_scale.real(0.0f));
  const Term range = top - minimum(of_scale.tensor(smallest), of_scale.real(0.0f));
  const Term is_flat = of_scale.apply(MapOp::equal, {range, of_scale.real(0.0f)});
  const Term scale = select(is_flat, of_scale.real(1.0f), range / of_scale.real(255.0f));
  const TensorId scale_id = add_formula(context, of_scale, scale, "scale");
  Formula of_zero_point(context.graph);
  const Term bottom = minimum(of_zero_point.tensor(smallest), of_zero_point.real(0.0f));
  const Term place = clamped(of_zero_point.real(0.0f) - bottom / of_zero_point.tensor(scale_id), 0.0f, 255.0f);
  const Term zero_point = converted(of_zero_point.apply(MapOp::round, {place}), DType::s32);
  const TensorId zero_point_id = add_formula(context, of_zero_point, zero_point, "zero_point");
  Formula of_y(context.graph);
  const Term steps = of_y.apply(MapOp::round, {of_y.tensor(x) / of_y.tensor(scale_id)});
  const Term y = converted(converted(steps, DType::s32) + of_y.tensor(zero_point_id), DType::u8);
  finish_formula(context, of_y, y);
  Node identity;
  if (context.outputs() > 1) context.finish(std::move(identity), {scale_id}, DType::f32, {}, 1);
  Formula narrow(context.graph);
  if (context.outputs() > 2) finish_formula(context, narrow, converted(narrow.tensor(zero_point_id), DType::u8), 2);
}

}  // namespace warpwright
