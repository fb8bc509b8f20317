// ConvInteger and MatMulInteger: products of codes whose int32 sums are the result. In the graph they are float32
// products of codes of scale 1. A zero point that is known only at run time, as DynamicQuantizeLinear gives it, is
// taken off behind the product: sum((a - za) * b) = sum(a * b) - za * sum(b), all of it in int32.
#include <fmt/core.h>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// An operand as float32 of scale 1, less its zero point where that is constant.
struct Operand {
  TensorId real = kNoTensor;
  TensorId zero_point = kNoTensor;  // s32, where it is no constant
};

/// `axis`: along which a zero point of several elements lies.
Operand read_operand(OperatorContext& context, int index, int zero_point, int64_t axis, const std::string& suffix) {
  const TensorId id = context.input(index);
  const GraphTensor codes = context.graph.tensor(id);
  if (!is_code(codes.dtype)) throw UsageError(fmt::format("\"{}\" is no tensor of 8-bit codes", codes.name));
  Operand operand;
  Quantization quantization;
  quantization.dtype = codes.dtype;
  if (context.has_input(zero_point) && !context.constant_input(zero_point)) {
    const GraphTensor& given = context.input_tensor(zero_point);
    if (given.dtype != codes.dtype) {
      throw UsageError(fmt::format("\"{}\" is {}, its zero point \"{}\" is {}", codes.name, name(codes.dtype),
                                   given.name, name(given.dtype)));
    }
    Formula formula(context.graph);
    operand.zero_point = add_formula(context, formula, converted(formula.tensor(context.input(zero_point)), DType::s32),
                                     suffix + "_zero_point");
  } else {
    quantization = context.unit_quantization(zero_point, codes.dtype, axis, codes.name, codes.shape);
  }
  operand.real = context.add_inner(dequantize_node(quantization), {id}, DType::f32, Shape(codes.shape), suffix);
  return operand;
}

bool is_scalar(const OperatorContext& context, TensorId id) {
  return element_count(context.graph.tensor(id).shape) == 1;
}

/// The sums over these axes, as s32.
TensorId integer_sums(OperatorContext& context, TensorId real, const std::vector<size_t>& axes,
                      const std::string& suffix) {
  Formula formula(context.graph);
  const TensorId integers = add_formula(context, formula, converted(formula.tensor(real), DType::s32), suffix);
  return reduced(context, integers, axes, ReductionOp::sum, suffix + "_sums");
}

/// What run-time zero points take off the sums of each window: zero_point * the sum of the weights that lie over the
/// image.
TensorId weights_over_image(OperatorContext& context, TensorId w, const UnplacedNode& conv, const Shape& x) {
  // float32 holds their sums: each is a sum of integers below 2^24.
  constexpr int64_t kMostProducts = (1 << 24) / 255;
  const Shape shape = context.graph.tensor(w).shape;
  if (element_count(shape) / shape[0] > kMostProducts) {
    throw UsageError(fmt::format("a run-time zero point over more than {} products is not supported", kMostProducts));
  }
  const Window& window = conv.node.window;
  if (window.pad_top + window.pad_left + window.pad_bottom + window.pad_right == 0) {
    std::vector<size_t> axes;
    for (size_t i = 1; i < shape.size(); ++i) axes.push_back(i);
    const TensorId sums = integer_sums(context, w, axes, "filters");
    Shape wanted(shape.size(), 1);
    wanted[1] = shape[0];
    return reshaped(context, sums, std::move(wanted), "filter_sums");
  }
  const TensorId filters = reduced(context, w, {1}, ReductionOp::sum, "filters");
  Shape plane = x;
  plane[0] = plane[1] = 1;
  take_bytes(context.graph, element_count(plane) * 4);
  Tensor ones(DType::f32, plane);
  for (int64_t i = 0; i < ones.size(); ++i) ones.as<float>()[static_cast<size_t>(i)] = 1.0f;
  Node node = conv.node;
  node.groups = 1;
  Shape result = conv.shape;
  result[0] = 1;
  const TensorId image = add_constant(context, std::move(ones), "image");
  const TensorId sums =
      context.add_inner(std::move(node), {image, filters, kNoTensor}, DType::f32, std::move(result), "over");
  Formula formula(context.graph);
  return add_formula(context, formula, converted(formula.tensor(sums), DType::s32), "weights_over_image");
}

}  // namespace

void import_conv_integer(OperatorContext& context) {
  context.require_inputs(2, 4);
  const Operand x = read_operand(context, 0, 2, 0, "x"), w = read_operand(context, 1, 3, 0, "w");
  if (w.zero_point != kNoTensor) {
    throw UsageError(
        fmt::format("the weight's zero point \"{}\" is no constant, which is not supported", context.input_name(3)));
  }
  UnplacedNode made = convolution(context, x.real, w.real, kNoTensor);
  std::vector<TensorId> inputs{x.real, w.real, kNoTensor};
  if (x.zero_point == kNoTensor)
    return finish_product(context, std::move(made), std::move(inputs), {std::nullopt, true});
  if (!is_scalar(context, x.zero_point)) {
    throw UsageError(fmt::format("zero point \"{}\" has more than one element", context.input_name(2)));
  }
  const TensorId zero_point = reshaped(context, x.zero_point, {}, "scalar");
  const TensorId weights = weights_over_image(context, w.real, made, context.graph.tensor(x.real).shape);
  const TensorId sums = inner_product(context, std::move(made), std::move(inputs), {std::nullopt, true});
  Formula formula(context.graph);
  finish_formula(context, formula, formula.tensor(sums) - formula.tensor(zero_point) * formula.tensor(weights));
}

/// sum((a - za) * (b - zb)) = sum(a * b) - za * sum(b) - zb * sum(a) + k * za * zb, where those of the zero points that
/// are constant are part of a and b already.
void import_matmul_integer(OperatorContext& context) {
  context.require_inputs(2, 4);
  const Operand a = read_operand(context, 0, 2, -2, "a"), b = read_operand(context, 1, 3, -1, "b");
  if (a.zero_point == kNoTensor && b.zero_point == kNoTensor) {
    return finish_matmul(context, a.real, b.real, {std::nullopt, true});
  }
  const Shape of_a = context.graph.tensor(a.real).shape, of_b = context.graph.tensor(b.real).shape;
  if (of_a.size() < 2 || of_b.size() < 2) throw UsageError("a run-time zero point of a vector is not supported");
  const TensorId sums = inner_matmul(context, a.real, b.real, {std::nullopt, true});
  const size_t rows = of_a.size() - 2, columns = of_b.size() - 1;
  const TensorId za = a.zero_point == kNoTensor
                          ? kNoTensor
                          : spread_along(context, a.zero_point, of_a, static_cast<int64_t>(rows), "zero point");
  const TensorId zb = b.zero_point == kNoTensor
                          ? kNoTensor
                          : spread_along(context, b.zero_point, of_b, static_cast<int64_t>(columns), "zero point");
  const TensorId b_sums = za == kNoTensor ? kNoTensor : integer_sums(context, b.real, {columns - 1}, "b_columns");
  const TensorId a_sums = zb == kNoTensor ? kNoTensor : integer_sums(context, a.real, {rows + 1}, "a_rows");
  Formula formula(context.graph);
  Term result = formula.tensor(sums);
  if (za != kNoTensor) result = result - formula.tensor(za) * formula.tensor(b_sums);
  if (zb != kNoTensor) result = result - formula.tensor(zb) * formula.tensor(a_sums);
  if (za != kNoTensor && zb != kNoTensor) {
    result = result + formula.tensor(za) * formula.tensor(zb) * formula.integer(DType::s32, of_b[columns - 1]);
  }
  finish_formula(context, formula, result);
}

}  // namespace warpwright
