// ConvInteger and MatMulInteger: products of codes whose int32 sums are the result. In the graph they are float32
// products of codes of scale 1.
#include <fmt/core.h>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// Input `index` as float32 of scale 1, less the zero point at input `zero_point`: one, or one for each index of
/// `axis`.
TensorId centred(OperatorContext& context, int index, int zero_point, int64_t axis, const std::string& suffix) {
  const TensorId id = context.input(index);
  const GraphTensor& codes = context.graph.tensor(id);
  if (!is_code(codes.dtype)) throw UsageError(fmt::format("\"{}\" is no tensor of 8-bit codes", codes.name));
  const Quantization quantization = context.unit_quantization(zero_point, codes.dtype, axis, codes.name, codes.shape);
  return context.add_inner(dequantize_node(quantization), {id}, DType::f32, Shape(codes.shape), suffix);
}

}  // namespace

void import_conv_integer(OperatorContext& context) {
  context.require_inputs(2, 4);
  const TensorId x = centred(context, 0, 2, 0, "x");
  const TensorId w = centred(context, 1, 3, 0, "w");
  finish_product(context, convolution(context, x, w, kNoTensor), {x, w, kNoTensor}, {std::nullopt, true});
}

void import_matmul_integer(OperatorContext& context) {
  context.require_inputs(2, 4);
  const TensorId a = centred(context, 0, 2, 0, "a");
  const TensorId b = centred(context, 1, 3, -1, "b");
  finish_matmul(context, a, b, {std::nullopt, true});
}

}  // namespace warpwright
