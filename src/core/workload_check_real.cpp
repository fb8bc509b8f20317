// Checks of the float32 kinds.
#include <fmt/core.h>

#include <algorithm>

#include "src/core/error.h"
#include "src/core/workload_check.h"

namespace warpwright {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;

int64_t elements(const TensorForm& form) { return form.pixels() * form.c; }

void require_type(const TensorForm& form, DType dtype, const char* which) {
  require(form.dtype == dtype, fmt::format("{}: must be {}", which, name(dtype)));
}

void require_inputs(const Workload& workload, size_t count) {
  require(workload.inputs.size() == count, fmt::format("{} has {} inputs", name(workload.kind), count));
}

void check_real_conv2d(const Workload& workload) {
  require_inputs(workload, 1);
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  require_type(x, DType::f32, "x");
  require_type(y, DType::f32, "output");
  require(workload.groups >= 1 && x.c % workload.groups == 0 && y.c % workload.groups == 0,
          fmt::format("{} groups do not divide the channels", workload.groups));
  check_convolution_window(workload);
}

void check_real_matmul(const Workload& workload) {
  require(workload.inputs.size() <= 2, "a real_matmul has one or two inputs");
  for (const TensorForm& input : workload.inputs) require_type(input, DType::f32, "input");
  require_type(workload.output, DType::f32, "output");
  check_matmul_extents(workload);
}

void check_map(const Workload& workload) {
  const Map& map = workload.map;
  check(map);
  require(map.elements() == elements(workload.output), "the extents of a map hold other than the output's elements");
  require_type(workload.output, value_types(map).back(), "output");
  size_t input = 0;
  for (const MapOperand& operand : map.operands) {
    if (operand.constant) continue;
    require(input < workload.inputs.size(), "a map has an operand without an input");
    const TensorForm& form = workload.inputs[input++];
    require_type(form, operand.dtype, "input");
    require(span(map, operand) <= elements(form), "a map reads behind the end of an input");
  }
  require(input == workload.inputs.size(), "a map has an input without an operand");
}

void check_extents(const Rows& rows) {
  __int128 count = 1;
  for (const int64_t extent : {rows.outer, rows.length, rows.inner}) {
    require(extent >= 1 && extent <= kMostElements, "an extent of the rows is out of range");
    count *= extent;
    require(count <= kMostElements, "the rows are too large");
  }
}

void check_rows(const Rows& rows, const TensorForm& form) {
  check_extents(rows);
  require(rows.elements() == elements(form), "the rows hold other than the tensor's elements");
}

void check_reduce(const Workload& workload) {
  require_inputs(workload, 1);
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  const ReductionOp op = workload.reduction;
  const bool gives_index = op == ReductionOp::arg_max || op == ReductionOp::arg_min;
  require(x.dtype == DType::f32 || x.dtype == DType::s32, "reduce takes f32 or s32");
  require(x.dtype == DType::f32 || op != ReductionOp::mean, "there is no mean of s32");
  require(gives_index || !workload.select_last, "select_last is of arg_max and arg_min");
  require_type(y, gives_index ? DType::s64 : x.dtype, "output");
  check_rows(workload.rows, x);
  require(elements(y) == workload.rows.outer * workload.rows.inner, "the output of reduce has one element a row");
}

/// softmax and normalize.
void check_row_by_row(const Workload& workload) {
  require_inputs(workload, 1);
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  require_type(x, DType::f32, "x");
  require_type(y, DType::f32, "output");
  check_rows(workload.rows, x);
  require(elements(y) == elements(x), "the output has other than the input's elements");
  require(workload.kind == OpKind::softmax || workload.rows.inner == 1, "normalize takes rows without inner elements");
}

void check_real_pool(const Workload& workload) {
  require_inputs(workload, 1);
  require_type(workload.inputs[0], DType::f32, "x");
  require_type(workload.output, DType::f32, "output");
  require(workload.inputs[0].c == workload.output.c, "a pool keeps the channels");
  check_window(workload);
}

void check_resample(const Workload& workload) {
  require_inputs(workload, 1);
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  require_type(x, DType::f32, "x");
  require_type(y, DType::f32, "output");
  require(x.n == y.n && x.c == y.c, "resample keeps batch and channels");
  for (const int64_t taps : {workload.h_taps, workload.w_taps}) {
    require(taps >= 1 && taps <= 1 << 16, fmt::format("{} taps are out of range", taps));
  }
}

void check_gather(const Workload& workload) {
  require(workload.inputs.size() <= 2, "a gather has one or two inputs");
  const TensorForm& index = workload.inputs.back();
  const Rows& rows = workload.rows;
  require(index.dtype == DType::s32 || index.dtype == DType::s64, "the index of a gather is s32 or s64");
  if (workload.inputs.size() == 2) {
    require_type(workload.inputs[0], workload.output.dtype, "x");
    check_rows(rows, workload.inputs[0]);
  } else {
    check_extents(rows);
  }
  require(static_cast<__int128>(rows.outer) * elements(index) * rows.inner == elements(workload.output),
          "the output of a gather has other than the elements that its index picks");
}

void check_join(const Workload& workload) {
  const Rows& rows = workload.rows;
  require(workload.lengths.size() == workload.inputs.size(), "a join has one length an input");
  check_rows(rows, workload.output);
  int64_t sum = 0;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    require_type(workload.inputs[i], workload.output.dtype, "input");
    check_rows({rows.outer, workload.lengths[i], rows.inner}, workload.inputs[i]);
    sum += workload.lengths[i];
  }
  require(sum == rows.length, "the lengths of a join do not add up");
}

void check_indices(const Tensor& indices, int64_t extent) {
  const auto values = indices.as<int32_t>();
  const auto outside = std::ranges::find_if(values, [&](int32_t index) { return index < 0 || index >= extent; });
  require(outside == values.end(), "an index of a resample lies outside its image");
}

void check_map_values(const Map& map, ValueCheck& values) {
  size_t number = 0;
  for (const MapOperand& operand : map.operands) {
    if (operand.constant) values.take(fmt::format("constant{}", number++), operand.dtype, span(map, operand));
  }
}

}  // namespace

void check_real(const Workload& workload) {
  for (const TensorForm& input : workload.inputs) {
    require(input.layout == Layout::nchw, "the float32 kinds read nchw");
  }
  require(workload.output.layout == Layout::nchw, "the float32 kinds write nchw");
  switch (workload.kind) {
    case OpKind::real_conv2d:
      return check_real_conv2d(workload);
    case OpKind::real_matmul:
      return check_real_matmul(workload);
    case OpKind::map:
      return check_map(workload);
    case OpKind::reduce:
      return check_reduce(workload);
    case OpKind::softmax:
    case OpKind::normalize:
      return check_row_by_row(workload);
    case OpKind::real_max_pool:
    case OpKind::real_average_pool:
      return check_real_pool(workload);
    case OpKind::resample:
      return check_resample(workload);
    case OpKind::gather:
      return check_gather(workload);
    case OpKind::join:
      return check_join(workload);
    default:
      throw InternalError("unknown float32 kind");
  }
}

void check_real_values(const Workload& workload, ValueCheck& values) {
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  const Rows& rows = workload.rows;
  switch (workload.kind) {
    case OpKind::real_conv2d:
      values.take("weights", DType::f32, y.c * workload.reduction_size());
      if (workload.epilogue.bias) values.take("bias", DType::f32, y.c);
      return;
    case OpKind::real_matmul:
      if (workload.inputs.size() == 1) values.take("weights", DType::f32, workload.batch * x.c * y.c);
      if (workload.epilogue.bias) values.take("bias", DType::f32, y.c);
      return;
    case OpKind::map:
      return check_map_values(workload.map, values);
    case OpKind::normalize:
      values.take("epsilon", DType::f32, 1);
      values.take("scale", DType::f32, rows.length);
      if (workload.epilogue.bias) values.take("bias", DType::f32, rows.length);
      return;
    case OpKind::resample:
      check_indices(values.take("h_index", DType::s32, y.h * workload.h_taps), x.h);
      check_indices(values.take("w_index", DType::s32, y.w * workload.w_taps), x.w);
      values.take("h_weight", DType::f32, y.h * workload.h_taps);
      values.take("w_weight", DType::f32, y.w * workload.w_taps);
      return;
    case OpKind::gather:
      if (workload.inputs.size() == 1) values.take("table", y.dtype, rows.elements());
      return;
    default:
      return;
  }
}

}  // namespace warpwright
