// GatherElements and GatherND: gathers by places in the whole tensor, which several indices make up.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

/// As a gather of x as one row: where along the axis an index goes, and where the others are.
void import_gather_elements(OperatorContext& context) {
  context.require_inputs(2, 2);
  const Shape x = context.input_tensor(0).shape, y = context.input_tensor(1).shape;
  require_indices(context.input_tensor(1));
  const auto axis = static_cast<size_t>(normalized_axis(context.attributes.integer("axis", 0), x.size()));
  bool fits = x.size() == y.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || y[i] <= x[i];
  if (!fits) throw UsageError(fmt::format("indices of shape {} for {}", to_text(y), to_text(x)));
  const Movement source = whole(x), target = whole(y);
  take_bytes(context.graph, element_count(y) * 8);
  Tensor others(DType::s64, y);
  for (int64_t i = 0; i < others.size(); ++i) {
    int64_t place = 0;
    for (size_t k = 0; k < y.size(); ++k) {
      if (k != axis) place += i / target.axes[k].step % y[k] * source.axes[k].step;
    }
    others.as<int64_t>()[static_cast<size_t>(i)] = place;
  }
  Formula formula(context.graph);
  const Term index = converted(formula.tensor(context.input(1)), DType::s64);
  const Term extent = formula.integer(DType::s64, x[axis]), zero = formula.integer(DType::s64, 0);
  const Term along = select(index < zero, index + extent, index) * formula.integer(DType::s64, source.axes[axis].step);
  const Term place = along + formula.tensor(add_constant(context, std::move(others), "others"));
  const TensorId places = add_formula(context, formula, place, "places");
  Node node = step_node(OpKind::gather);
  node.workload.rows = {1, element_count(x), 1};
  const DType dtype = context.input_tensor(0).dtype;
  context.finish(std::move(node), {context.input(0), places}, dtype, Shape(y));
}

namespace {

/// GatherND's data as [batches, places, inner] and its indices as [batches, tuples, depth].
struct TupleGather {
  int64_t batches = 1, places = 1, tuples = 1, inner = 1;
  std::vector<int32_t> extents, steps;  // of the dimensions that a tuple goes through
  Shape result;
};

TupleGather read_tuple_gather(const Shape& x, const Shape& indices, int64_t batch_dims) {
  if (x.empty() || indices.empty()) throw UsageError("scalars are not supported");
  const auto rank = static_cast<int64_t>(x.size()), index_rank = static_cast<int64_t>(indices.size());
  const int64_t depth = indices.back();
  if (element_count(indices) == 0) throw UsageError("no indices");
  if (element_count(x) > std::numeric_limits<int32_t>::max()) throw UsageError(fmt::format("data of {}", to_text(x)));
  if (batch_dims < 0 || batch_dims >= std::min(rank, index_rank) || depth > rank - batch_dims ||
      !std::equal(x.begin(), x.begin() + batch_dims, indices.begin())) {
    throw UsageError(fmt::format("{} batch dimensions of indices of shape {} and data of shape {}", batch_dims,
                                 to_text(indices), to_text(x)));
  }
  TupleGather gather;
  gather.batches = element_count(Shape(x.begin(), x.begin() + batch_dims));
  gather.inner = element_count(Shape(x.begin() + batch_dims + depth, x.end()));
  gather.places = element_count(x) / gather.batches / gather.inner;
  gather.tuples = element_count(indices) / gather.batches / depth;
  int64_t step = gather.places;
  for (int64_t i = batch_dims; i < batch_dims + depth; ++i) {
    const int64_t extent = x[static_cast<size_t>(i)];
    step /= extent;
    gather.extents.push_back(static_cast<int32_t>(extent));
    gather.steps.push_back(static_cast<int32_t>(step));
  }
  gather.result.assign(indices.begin(), indices.end() - 1);
  gather.result.insert(gather.result.end(), x.begin() + batch_dims + depth, x.end());
  return gather;
}

/// The places that constant tuples mean, batch behind batch.
std::vector<int64_t> constant_places(const TupleGather& gather, const std::vector<int64_t>& indices) {
  std::vector<int64_t> places;
  for (size_t i = 0; i < indices.size(); i += gather.extents.size()) {
    int64_t place = static_cast<int64_t>(places.size()) / gather.tuples * gather.places;
    for (size_t k = 0; k < gather.extents.size(); ++k) {
      const int64_t index = indices[i + k], extent = gather.extents[k];
      if (index < -extent || index >= extent) throw UsageError(fmt::format("index {} of {}", index, extent));
      place += (index < 0 ? index + extent : index) * gather.steps[k];
    }
    places.push_back(place);
  }
  return places;
}

/// The same of tuples that are known only at run time, as s32 [batches, tuples, 1].
TensorId computed_places(OperatorContext& context, const TupleGather& gather, TensorId indices) {
  const auto depth = static_cast<int64_t>(gather.extents.size());
  indices = reshaped(context, indices, {gather.batches, gather.tuples, depth}, "tuples");
  Formula parts(context.graph);
  const Term index = converted(parts.tensor(indices), DType::s32);
  const Term extents = parts.tensor(add_constant(context, vector_s32(gather.extents), "extents"));
  const Term steps = parts.tensor(add_constant(context, vector_s32(gather.steps), "steps"));
  const Term part = select(index < parts.integer(DType::s32, 0), index + extents, index) * steps;
  const TensorId places = reduced(context, add_formula(context, parts, part, "parts"), {2}, ReductionOp::sum, "places");
  if (gather.batches == 1) return places;
  take_bytes(context.graph, gather.batches * 4);
  Tensor first(DType::s32, {gather.batches, 1, 1});
  for (int64_t i = 0; i < gather.batches; ++i) {
    first.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i * gather.places);
  }
  Formula formula(context.graph);
  const Term place = formula.tensor(places) + formula.tensor(add_constant(context, std::move(first), "batches"));
  return add_formula(context, formula, place, "batch_places");
}

}  // namespace

void import_gather_nd(OperatorContext& context) {
  context.require_inputs(2, 2);
  const OnnxConstant* constant = context.constant_input(1);
  if (!constant) require_indices(context.input_tensor(1));
  const Shape x = context.input_tensor(0).shape;
  const Shape indices = constant ? constant->shape : context.input_tensor(1).shape;
  TupleGather gather = read_tuple_gather(x, indices, context.attributes.integer("batch_dims", 0));
  const Shape rows{gather.batches * gather.places, gather.inner};
  const TensorId data = reshaped(context, context.input(0), rows, "places_of_data");
  const DType dtype = context.graph.tensor(data).dtype;
  TensorId y = kNoTensor;
  if (constant) {
    y = picked(context, data, 0, constant_places(gather, constant_integers(context, 1)), "picked");
  } else {
    Node node = step_node(OpKind::gather);
    node.workload.rows = {1, rows[0], rows[1]};
    const TensorId places = computed_places(context, gather, context.input(1));
    y = context.add_inner(std::move(node), {data, places}, dtype, {gather.batches * gather.tuples, gather.inner},
                          "picked");
  }
  Node reshape;
  reshape.kind = NodeKind::reshape;
  context.finish(std::move(reshape), {y}, dtype, std::move(gather.result));
}

}  // namespace warpwright
