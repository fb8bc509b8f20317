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

/// Of constants, from codes to float32 (a scale of 1), and from a type to itself.
void import_cast(OperatorContext& context) {
  context.require_inputs(1, 1);
  context.attributes.ignore("saturate");  // of float8 alone
  context.attributes.ignore("round_mode");
  const auto type = static_cast<int>(context.attributes.integer("to", 0));
  if (const OnnxConstant* constant = context.constant_input(0)) {
    return context.finish_constant(cast_constant(*constant, type));
  }
  const GraphTensor& x = context.input_tensor(0);
  if (is_code(x.dtype) && type == kFloat32) {
    Quantization quantization;
    quantization.dtype = x.dtype;
    return context.finish(dequantize_node(quantization), {context.input(0)}, DType::f32, Shape(x.shape));
  }
  const int own = x.dtype == DType::f32   ? kFloat32
                  : x.dtype == DType::s32 ? kInt32
                  : x.dtype == DType::u8  ? kUint8
                                          : kInt8;
  if (own == type) return context.finish_alias();
  throw UsageError(fmt::format("from {} to {} is not supported", name(x.dtype), element_type_name(type)));
}

}  // namespace warpwright
