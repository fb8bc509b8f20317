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

bool is_float16(const OnnxConstant* scale) { return scale && scale->type == kFloat16; }

int64_t read_axis(OperatorContext& context) { return context.attributes.integer("axis", 1); }

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
  if (precision > kFloat32 || (precision == 0 && is_float16(context.constant_input(1)))) {
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
  Quantization quantization = context.quantization(1, 2, codes, read_axis(context), x.name, x.shape);
  if (!is_code(quantization.dtype)) throw UsageError("int32 codes are not supported");
  const DType dtype = quantization.dtype;
  context.finish(quantize_node(quantization), {context.input(0)}, dtype, Shape(x.shape));
}

void import_dequantize_linear(OperatorContext& context) {
  context.require_inputs(2, 3);
  refuse_blocks(context);
  int64_t output_dtype = context.attributes.integer("output_dtype", 0);
  if (output_dtype == 0 && is_float16(context.constant_input(1))) output_dtype = kFloat16;
  if (output_dtype != 0 && output_dtype != kFloat32) {
    throw UsageError(
        fmt::format("its output is {}, which is not supported", element_type_name(static_cast<int>(output_dtype))));
  }
  if (const OnnxConstant* codes = context.constant_input(0); codes && !codes->is_readable()) {
    throw UsageError(
        fmt::format("\"{}\" has {} codes, which are not supported", codes->name, element_type_name(codes->type)));
  }
  const GraphTensor& x = context.input_tensor(0);
  if (x.dtype == DType::f32) throw UsageError(fmt::format("\"{}\" is float32, where codes are needed", x.name));
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
  const Term y = converted(formula.tensor(context.input(0)), dtype);
  finish_formula(context, formula, y);
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
