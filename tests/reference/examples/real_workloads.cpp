// The lists.
#include "tests/reference/examples/real_workloads.h"

#include "src/core/error.h"

namespace warpwright::testing {

namespace {

constexpr DType f32 = DType::f32, s32 = DType::s32, s64 = DType::s64, boolean = DType::boolean;

/// A tensor of `elements` elements whose extents say nothing.
TensorForm list_form(DType dtype, int64_t elements) { return nchw_form(dtype, 1, elements, 1, 1); }

int64_t extent_of(int64_t in, int64_t pad, int64_t kernel, int64_t dilation, int64_t stride) {
  return (in + pad - dilation * (kernel - 1) - 1) / stride + 1;
}

Workload of_one(OpKind kind, TensorForm x, TensorForm y) {
  Workload workload;
  workload.kind = kind;
  workload.inputs = {x};
  workload.output = y;
  return workload;
}

MapOperand operand(DType dtype, std::vector<int64_t> steps, bool constant = false) {
  return {dtype, constant, std::move(steps)};
}

/// One instruction over operands of `dtype`, all of them whole.
Workload single_map(MapOp op, DType dtype, int64_t elements) {
  Map map;
  map.extents = {elements};
  MapInstruction instruction{op, {}};
  for (int i = 0; i < argument_count(op); ++i) {
    map.operands.push_back(operand(op == MapOp::select && i == 0 ? boolean : dtype, {1}));
    instruction.arguments.push_back(i);
  }
  map.instructions = {instruction};
  return map_workload(map);
}

bool is_taken(MapOp op, DType dtype) {
  try {
    check(single_map(op, dtype, 2));
    return true;
  } catch (const InternalError&) {
    return false;
  }
}

}  // namespace

Workload real_conv2d_workload(TensorForm x, int64_t outputs, int64_t groups, Window window) {
  const int64_t h =
      extent_of(x.h, window.pad_top + window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h);
  const int64_t w =
      extent_of(x.w, window.pad_left + window.pad_right, window.kernel_w, window.dilation_w, window.stride_w);
  Workload workload = of_one(OpKind::real_conv2d, x, nchw_form(f32, x.n, outputs, h, w));
  workload.groups = groups;
  workload.window = window;
  workload.epilogue.bias = true;
  return workload;
}

Workload real_matmul_workload(int64_t batch, int64_t rows, int64_t depth, int64_t columns, bool transposed,
                              bool weights) {
  Workload workload = of_one(OpKind::real_matmul, nchw_form(f32, batch * rows, depth, 1, 1),
                             nchw_form(f32, batch * rows, columns, 1, 1));
  workload.batch = batch;
  workload.transposed = transposed;
  if (weights) {
    workload.epilogue.bias = true;
  } else if (transposed) {
    workload.inputs.push_back(nchw_form(f32, batch * columns, depth, 1, 1));
  } else {
    workload.inputs.push_back(nchw_form(f32, batch * depth, columns, 1, 1));
  }
  return workload;
}

Workload map_workload(Map map) {
  Workload workload;
  workload.kind = OpKind::map;
  workload.map = simplified(map);
  for (const MapOperand& operand : workload.map.operands) {
    if (!operand.constant) workload.inputs.push_back(list_form(operand.dtype, span(workload.map, operand)));
  }
  workload.output = list_form(value_types(workload.map).back(), workload.map.elements());
  return workload;
}

std::vector<Workload> real_product_workloads() {
  std::vector<Workload> list{
      real_conv2d_workload(nchw_form(f32, 1, 3, 9, 7), 5, 1, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}),
      real_conv2d_workload(nchw_form(f32, 2, 16, 8, 8), 40, 1, {}),
      real_conv2d_workload(nchw_form(f32, 1, 17, 11, 6), 70, 1, {3, 2, 2, 1, 1, 2, 0, 2, 3, 1}),
      real_conv2d_workload(nchw_form(f32, 1, 12, 6, 6), 18, 3, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}),
      real_conv2d_workload(nchw_form(f32, 1, 3, 31, 33), 8, 1, {7, 7, 2, 2, 1, 1, 3, 3, 3, 3}),
      real_conv2d_workload(nchw_form(f32, 2, 20, 9, 7), 20, 20, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}),
      real_conv2d_workload(nchw_form(f32, 1, 64, 1, 100), 64, 1, {1, 3, 1, 1, 1, 1, 0, 1, 0, 1}),
      real_conv2d_workload(nchw_form(f32, 1, 1, 1, 1), 1, 1, {}),
      real_matmul_workload(1, 1, 64, 100, false, true),
      real_matmul_workload(1, 5, 33, 10, true, true),
      real_matmul_workload(3, 17, 70, 33, true, false),
      real_matmul_workload(3, 17, 70, 33, false, false),
      real_matmul_workload(2, 64, 64, 1, false, false),
      real_matmul_workload(1, 130, 200, 140, false, true),
      real_matmul_workload(2, 9, 1, 20, true, true),
  };
  list[1].epilogue.bias = false;
  list[9].epilogue.bias = false;
  return list;
}

std::vector<Workload> map_workloads() {
  std::vector<Workload> list;
  for (int op = 0; op <= static_cast<int>(MapOp::to_f16); ++op) {
    for (const DType dtype : {f32, s32, s64, boolean, DType::s8, DType::u8, DType::f16}) {
      if (is_taken(static_cast<MapOp>(op), dtype)) list.push_back(single_map(static_cast<MapOp>(op), dtype, 2500));
    }
  }
  // A [4,5,6,7] + b [5,1,7] * c, a constant [6,1] and a scalar constant; the last one is used twice.
  Map broadcast;
  broadcast.extents = {4, 5, 6, 7};
  broadcast.operands = {operand(f32, {210, 42, 7, 1}), operand(f32, {0, 7, 0, 1}), operand(f32, {0, 0, 1, 0}, true),
                        operand(f32, {0, 0, 0, 0}, true)};
  broadcast.instructions = {
      {MapOp::multiply, {1, 2}}, {MapOp::add, {0, 4}}, {MapOp::maximum, {5, 3}}, {MapOp::divide, {6, 3}}};
  list.push_back(map_workload(broadcast));
  // A transposed operand; a table of s32 beside f32; one element; rows that are read every second element.
  Map turned;
  turned.extents = {13, 11};
  turned.operands = {operand(f32, {1, 13}), operand(s32, {0, 1}), operand(DType::u8, {11, 1})};
  turned.instructions = {
      {MapOp::to_f32, {1}}, {MapOp::to_f32, {2}}, {MapOp::subtract, {4, 3}}, {MapOp::multiply, {5, 0}}};
  list.push_back(map_workload(turned));
  Map one;
  one.operands = {operand(f32, {}), operand(f32, {})};
  one.instructions = {{MapOp::power, {0, 1}}};
  list.push_back(map_workload(one));
  Map strided;
  strided.extents = {100, 30};
  strided.operands = {operand(f32, {64, 2})};
  strided.instructions = {{MapOp::exponential, {0}}, {MapOp::negate, {1}}};
  list.push_back(map_workload(strided));
  // A quantization: round, shift, saturate; and an activation with a condition.
  Map quantize;
  quantize.extents = {3, 1000};
  quantize.operands = {operand(f32, {1000, 1}), operand(f32, {0, 0}), operand(s32, {1, 0})};
  quantize.instructions = {
      {MapOp::divide, {0, 1}}, {MapOp::round, {3}}, {MapOp::to_s32, {4}}, {MapOp::add, {5, 2}}, {MapOp::to_u8, {6}}};
  list.push_back(map_workload(quantize));
  Map elu;
  elu.extents = {3000};
  elu.operands = {operand(f32, {1}), operand(f32, {0}, true), operand(f32, {0}, true)};
  elu.instructions = {
      {MapOp::less, {1, 0}}, {MapOp::exponential, {0}}, {MapOp::subtract, {4, 2}}, {MapOp::select, {3, 0, 5}}};
  list.push_back(map_workload(elu));
  return list;
}

namespace {

Workload by_rows(OpKind kind, DType x, DType y, Rows rows, int64_t elements) {
  Workload workload = of_one(kind, list_form(x, rows.elements()), list_form(y, elements));
  workload.rows = rows;
  return workload;
}

void add_reductions(std::vector<Workload>& list) {
  const Rows shapes[] = {{7, 50, 1}, {1, 1000, 1}, {3, 9, 5}, {40, 1, 1}, {2, 33, 70}};
  for (int op = 0; op <= static_cast<int>(ReductionOp::arg_min); ++op) {
    const auto reduction = static_cast<ReductionOp>(op);
    const bool gives_index = reduction == ReductionOp::arg_max || reduction == ReductionOp::arg_min;
    for (const Rows& rows : shapes) {
      for (const DType dtype : {f32, s32}) {
        if (dtype == s32 && reduction == ReductionOp::mean) continue;
        Workload workload = by_rows(OpKind::reduce, dtype, gives_index ? s64 : dtype, rows, rows.outer * rows.inner);
        workload.reduction = reduction;
        workload.select_last = gives_index && rows.inner == 5;
        list.push_back(workload);
      }
    }
  }
  for (const Rows& rows : shapes) {
    for (const bool flag : {false, true}) {
      Workload softmax = by_rows(OpKind::softmax, f32, f32, rows, rows.elements());
      softmax.logarithm = flag;
      list.push_back(softmax);
      if (rows.inner != 1) continue;
      Workload normalize = by_rows(OpKind::normalize, f32, f32, rows, rows.elements());
      normalize.centered = normalize.epilogue.bias = flag;
      list.push_back(normalize);
    }
  }
}

void add_pools(std::vector<Workload>& list) {
  const auto add = [&](OpKind kind, TensorForm x, int64_t h, int64_t w, Window window, bool counts) {
    Workload workload = of_one(kind, x, nchw_form(f32, x.n, x.c, h, w));
    workload.window = window;
    workload.count_include_pad = counts;
    list.push_back(workload);
  };
  for (const OpKind kind : {OpKind::real_max_pool, OpKind::real_average_pool}) {
    const bool average = kind == OpKind::real_average_pool;
    add(kind, nchw_form(f32, 2, 5, 9, 8), 5, 4, {3, 2, 2, 2, 1, 1, 1, 0, 1, 0}, average);
    add(kind, nchw_form(f32, 1, 70, 6, 6), 3, 3, {2, 2, 2, 2, 1, 1, 0, 0, 0, 0}, false);
    // The last window begins behind the image: ceil_mode; and dilation that steps over it.
    add(kind, nchw_form(f32, 1, 3, 7, 7), 4, 4, {2, 3, 2, 2, 2, 3, 1, 1, 1, 1}, average);
    add(kind, nchw_form(f32, 1, 3, 5, 40), 1, 1, {5, 40, 1, 1, 1, 1, 0, 0, 0, 0}, false);
  }
}

void add_movements(std::vector<Workload>& list) {
  const auto gather = [&](DType dtype, DType index, Rows rows, int64_t picks, bool table) {
    Workload workload =
        of_one(OpKind::gather, list_form(index, picks), list_form(dtype, rows.outer * picks * rows.inner));
    if (!table) workload.inputs.insert(workload.inputs.begin(), list_form(dtype, rows.elements()));
    workload.rows = rows;
    list.push_back(workload);
  };
  gather(f32, s64, {1, 100, 48}, 37, true);
  gather(f32, s32, {3, 10, 7}, 9, false);
  gather(DType::u8, s64, {5, 40, 1}, 11, false);
  gather(s64, s64, {1, 9, 1}, 1, false);
  gather(boolean, s32, {2, 9, 16}, 5, true);
  gather(DType::s8, s32, {1, 50, 64}, 20, true);
  const auto join = [&](DType dtype, Rows rows, std::vector<int64_t> lengths) {
    Workload workload;
    workload.kind = OpKind::join;
    workload.rows = rows;
    workload.lengths = std::move(lengths);
    for (const int64_t length : workload.lengths) {
      workload.inputs.push_back(list_form(dtype, rows.outer * length * rows.inner));
    }
    workload.output = list_form(dtype, rows.elements());
    list.push_back(workload);
  };
  join(f32, {3, 12, 20}, {5, 1, 6});
  join(s64, {1, 7, 1}, {3, 4});
  join(boolean, {10, 3, 1}, {1, 1, 1});
  join(DType::s8, {4, 9, 3}, {8, 1});
  join(f32, {2, 4, 5}, {4});
  for (const DType dtype : {s64, boolean}) {
    Workload padded = of_one(OpKind::move, nchw_form(dtype, 1, 20, 6, 7), nchw_form(dtype, 1, 22, 9, 8));
    padded.movement = {-50, {{22, 42, 1, 21}, {9, 7, 1, 7}, {8, 1, 1, 8}}};
    list.push_back(padded);
  }
}

}  // namespace

std::vector<Workload> real_light_workloads() {
  std::vector<Workload> list;
  add_reductions(list);
  add_pools(list);
  add_movements(list);
  for (const auto& [h, w] : {std::pair{2, 2}, std::pair{4, 1}, std::pair{1, 3}}) {
    Workload workload = of_one(OpKind::resample, nchw_form(f32, 2, 3, 7, 9), nchw_form(f32, 2, 3, 12, 5));
    workload.h_taps = h;
    workload.w_taps = w;
    list.push_back(workload);
  }
  return list;
}

}  // namespace warpwright::testing
