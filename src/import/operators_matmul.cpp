// MatMul in float32: of a constant matrix, of constant matrices batch by batch, of two activations.
#include <fmt/core.h>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// Matrices of a tensor of two dimensions or more, and the dimensions before them without leading ones.
struct Matrices {
  explicit Matrices(const GraphTensor& tensor) {
    if (tensor.shape.size() < 2) {
      throw UsageError(fmt::format("\"{}\" of shape {} is no matrix", tensor.name, to_text(tensor.shape)));
    }
    rows = tensor.shape[tensor.shape.size() - 2], columns = tensor.shape.back();
    auto first = tensor.shape.begin();
    while (first != tensor.shape.end() - 2 && *first == 1) ++first;
    batch.assign(first, tensor.shape.end() - 2);
  }
  Shape batch;
  int64_t rows = 0, columns = 0;
};

/// The operands of a product as matrices [rows, columns], batch behind batch.
UnplacedNode flat_matmul(OperatorContext& context, TensorId& x_id, TensorId& w_id) {
  const GraphTensor x = context.graph.tensor(x_id), w = context.graph.tensor(w_id);
  const Matrices a(x), b(w);
  if (a.columns != b.rows) {
    throw UsageError(fmt::format("\"{}\" has {} columns, \"{}\" expects {}", x.name, a.columns, w.name, b.rows));
  }
  UnplacedNode made;
  if (context.is_derived_from_constants(w_id) && b.batch.empty()) {
    w_id = reshaped(context, w_id, {b.rows, b.columns}, "matrix");
    made.node.kind = NodeKind::gemm;
  } else {
    made.node.kind = NodeKind::matmul;
    made.node.batch = element_count(b.batch);
    if (!b.batch.empty() && a.batch != b.batch) {
      throw UsageError(fmt::format("operands of shape {} and {}: batches that differ are not supported",
                                   to_text(x.shape), to_text(w.shape)));
    }
    w_id = reshaped(context, w_id, {element_count(w.shape) / b.columns, b.columns}, "matrices");
  }
  made.shape = {element_count(x.shape) / a.columns, b.columns};
  x_id = reshaped(context, x_id, {made.shape[0], a.columns}, "rows");
  return made;
}

/// What a product over inner tensors of the node gives, in the type of `result`.
TensorId inner_product(OperatorContext& context, UnplacedNode made, std::vector<TensorId> inputs,
                       const ProductResult& result) {
  const Shape shape = made.shape;
  const TensorId id = context.add_inner(std::move(made.node), std::move(inputs), DType::f32, Shape(shape), "product");
  if (result.quantized) {
    return context.add_inner(quantize_node(*result.quantized), {id}, result.quantized->dtype, Shape(shape), "codes");
  }
  if (!result.as_integers) return id;
  Node integer;
  integer.kind = NodeKind::integer;
  return context.add_inner(std::move(integer), {id}, DType::s32, Shape(shape), "sums");
}

/// A constant matrix for each of x's batches: a convolution of one group a batch, over pixels that are x's rows.
void finish_grouped(OperatorContext& context, TensorId x_id, TensorId w_id, const ProductResult& result) {
  const GraphTensor x = context.graph.tensor(x_id), w = context.graph.tensor(w_id);
  const Matrices a(x), b(w);
  if (a.batch != b.batch || a.columns != b.rows) {
    throw UsageError(fmt::format("operands of shape {} and {}: batches that differ are not supported", to_text(x.shape),
                                 to_text(w.shape)));
  }
  const int64_t batch = element_count(b.batch);
  x_id = transposed(context, reshaped(context, x_id, {batch, a.rows, a.columns}, "x"), {0, 2, 1}, "x_columns");
  w_id = transposed(context, reshaped(context, w_id, {batch, b.rows, b.columns}, "w"), {0, 2, 1}, "w_columns");
  x_id = reshaped(context, x_id, {1, batch * a.columns, a.rows, 1}, "pixels");
  w_id = reshaped(context, w_id, {batch * b.columns, b.rows, 1, 1}, "filters");
  UnplacedNode made;
  made.node.kind = NodeKind::conv;
  made.node.groups = batch;
  made.shape = {1, batch * b.columns, a.rows, 1};
  TensorId id = inner_product(context, std::move(made), {x_id, w_id, kNoTensor}, result);
  id = transposed(context, reshaped(context, id, {batch, b.columns, a.rows}, "y_columns"), {0, 2, 1}, "y");
  Shape shape = x.shape;
  shape.back() = b.columns;
  Node reshape;
  reshape.kind = NodeKind::reshape;
  const DType dtype = context.graph.tensor(id).dtype;
  context.finish(std::move(reshape), {id}, dtype, std::move(shape));
}

}  // namespace

void finish_matmul(OperatorContext& context, TensorId x_id, TensorId w_id, const ProductResult& result) {
  if (context.is_derived_from_constants(w_id) && !Matrices(context.graph.tensor(w_id)).batch.empty()) {
    return finish_grouped(context, x_id, w_id, result);
  }
  Shape shape = context.graph.tensor(x_id).shape;
  UnplacedNode made = flat_matmul(context, x_id, w_id);
  shape.back() = made.shape[1];
  std::vector<TensorId> inputs{x_id, w_id};
  if (made.node.kind == NodeKind::gemm) inputs.push_back(kNoTensor);
  if (shape == made.shape) return finish_product(context, std::move(made), std::move(inputs), result);
  const TensorId id = inner_product(context, std::move(made), std::move(inputs), result);
  Node reshape;
  reshape.kind = NodeKind::reshape;
  const DType dtype = context.graph.tensor(id).dtype;
  context.finish(std::move(reshape), {id}, dtype, std::move(shape));
}

void import_matmul(OperatorContext& context) {
  context.require_inputs(2, 2);
  require_real(context.input_tensor(0));
  require_real(context.input_tensor(1));
  finish_matmul(context, context.input(0), context.input(1), {});
}

}  // namespace warpwright
