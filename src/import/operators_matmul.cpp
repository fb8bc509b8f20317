// MatMul in float32: of a constant matrix, of constant matrices batch by batch, of two activations; FusedMatMul.
#include <fmt/core.h>

#include <numeric>

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
    w_id = reshaped(context, w_id, {element_count(w.shape) / b.columns, b.columns}, "matrices");
  }
  made.shape = {element_count(x.shape) / a.columns, b.columns};
  x_id = reshaped(context, x_id, {made.shape[0], a.columns}, "rows");
  return made;
}

/// A constant matrix for each of x's batches: a convolution of one group a batch, over pixels that are x's rows.
TensorId grouped_product(OperatorContext& context, TensorId x_id, TensorId w_id, const ProductResult& result) {
  const GraphTensor x = context.graph.tensor(x_id), w = context.graph.tensor(w_id);
  const Matrices a(x), b(w);
  if (a.columns != b.rows) {
    throw UsageError(fmt::format("\"{}\" has {} columns, \"{}\" expects {}", x.name, a.columns, w.name, b.rows));
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
  return transposed(context, reshaped(context, id, {batch, b.columns, a.rows}, "y_columns"), {0, 2, 1}, "y");
}

/// A tensor of one dimension as a matrix of one row, or of one column.
TensorId as_matrix(OperatorContext& context, TensorId id, bool as_row) {
  const Shape shape = context.graph.tensor(id).shape;
  if (shape.size() != 1) return id;
  return reshaped(context, id, as_row ? Shape{1, shape[0]} : Shape{shape[0], 1}, as_row ? "row" : "column");
}

/// Both operands with the batches of both, where these differ; one matrix for all of x's stays alone.
void align_batches(OperatorContext& context, TensorId& x_id, TensorId& w_id) {
  const Shape x = context.graph.tensor(x_id).shape, w = context.graph.tensor(w_id).shape;
  const Shape x_batch(x.begin(), x.end() - 2), w_batch(w.begin(), w.end() - 2);
  const Shape batch = broadcast(x_batch, w_batch);
  const auto with_batch = [&](const Shape& matrix) {
    Shape shape = batch;
    shape.insert(shape.end(), matrix.end() - 2, matrix.end());
    check_shape(shape);
    return shape;
  };
  x_id = expanded(context, x_id, with_batch(x), "x_batches");
  if (element_count(w_batch) > 1) w_id = expanded(context, w_id, with_batch(w), "w_batches");
}

/// Matrices of common batches, and the shape of their product.
struct Operands {
  Operands(OperatorContext& context, TensorId x_id, TensorId w_id) : x(x_id), w(w_id) {
    const bool is_row = context.graph.tensor(x).shape.size() == 1,
               is_column = context.graph.tensor(w).shape.size() == 1;
    x = as_matrix(context, x, true);
    w = as_matrix(context, w, false);
    const Matrices of_x(context.graph.tensor(x)), of_w(context.graph.tensor(w));
    align_batches(context, x, w);
    shape = context.graph.tensor(x).shape;
    shape.back() = of_w.columns;
    if (is_row) shape.erase(shape.end() - 2);
    if (is_column) shape.pop_back();
    are_constants_by_batch = context.is_derived_from_constants(w) && !of_w.batch.empty();
  }

  TensorId x, w;
  Shape shape;
  bool are_constants_by_batch;  // w: a constant matrix for each of x's
};

std::vector<TensorId> inputs_of(const UnplacedNode& made, const Operands& operands) {
  std::vector<TensorId> inputs{operands.x, operands.w};
  if (made.node.kind == NodeKind::gemm) inputs.push_back(kNoTensor);
  return inputs;
}

}  // namespace

TensorId inner_matmul(OperatorContext& context, TensorId x, TensorId w, const ProductResult& result) {
  Operands operands(context, x, w);
  if (operands.are_constants_by_batch) {
    return reshaped(context, grouped_product(context, operands.x, operands.w, result), operands.shape, "shaped");
  }
  UnplacedNode made = flat_matmul(context, operands.x, operands.w);
  std::vector<TensorId> inputs = inputs_of(made, operands);
  return reshaped(context, inner_product(context, std::move(made), std::move(inputs), result), operands.shape,
                  "shaped");
}

void finish_matmul(OperatorContext& context, TensorId x, TensorId w, const ProductResult& result) {
  Operands operands(context, x, w);
  TensorId id = kNoTensor;
  if (operands.are_constants_by_batch) {
    id = grouped_product(context, operands.x, operands.w, result);
  } else {
    UnplacedNode made = flat_matmul(context, operands.x, operands.w);
    std::vector<TensorId> inputs = inputs_of(made, operands);
    if (operands.shape == made.shape) return finish_product(context, std::move(made), std::move(inputs), result);
    id = inner_product(context, std::move(made), std::move(inputs), result);
  }
  Node reshape;
  reshape.kind = NodeKind::reshape;
  const DType dtype = context.graph.tensor(id).dtype;
  context.finish(std::move(reshape), {id}, dtype, std::move(operands.shape));
}

void import_fused_matmul(OperatorContext& context) {
  context.require_inputs(2, 2);
  const float alpha = context.attributes.real("alpha", 1.0f);
  if (context.attributes.integer("transBatchA", 0) != 0 || context.attributes.integer("transBatchB", 0) != 0) {
    throw UsageError("transBatchA and transBatchB are not supported");
  }
  std::vector<TensorId> operands;
  for (int i = 0; i < 2; ++i) {
    require_real(context.input_tensor(i));
    TensorId id = context.input(i);
    const size_t rank = context.graph.tensor(id).shape.size();
    if (context.attributes.integer(i == 0 ? "transA" : "transB", 0) != 0 && rank >= 2) {
      std::vector<int64_t> order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[rank - 2], order[rank - 1]);
      id = transposed(context, id, order, i == 0 ? "a" : "b");
    }
    operands.push_back(id);
  }
  if (alpha != 1.0f) {
    Formula formula(context.graph);
    const Term scaled = formula.tensor(operands[0]) * alpha;
    operands[0] = add_formula(context, formula, scaled, "scaled");
  }
  finish_matmul(context, operands[0], operands[1], {});
}

void import_matmul(OperatorContext& context) {
  context.require_inputs(2, 2);
  require_real(context.input_tensor(0));
  require_real(context.input_tensor(1));
  finish_matmul(context, context.input(0), context.input(1), {});
}

}  // namespace warpwright
