// Random Workloads of the float32 kinds.
#include "tests/search_space/random/random_real_workload.h"

#include <algorithm>

#include "src/core/error.h"

namespace warpwright::testing {

namespace {

constexpr DType f32 = DType::f32;

TensorForm list_form(DType dtype, int64_t elements) { return nchw_form(dtype, 1, elements, 1, 1); }

int64_t extent(Draw& draw) {
  if (draw.chance(30)) return draw.one_of<int64_t>({1, 2, 3, 31, 32, 33, 64});
  return draw.between(1, draw.chance(70) ? 24 : 300);
}

int64_t output_extent(int64_t in, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t span = in + pads - dilation * (kernel - 1) - 1;
  return span < 0 ? 0 : span / stride + 1;
}

Window window(Draw& draw) {
  Window window;
  if (draw.chance(30)) return window;
  window.kernel_h = draw.between(1, 5), window.kernel_w = draw.chance(60) ? window.kernel_h : draw.between(1, 7);
  window.stride_h = draw.between(1, 3), window.stride_w = draw.chance(60) ? window.stride_h : draw.between(1, 3);
  window.dilation_h = draw.chance(75) ? 1 : 2, window.dilation_w = draw.chance(75) ? 1 : 3;
  window.pad_top = draw.between(0, window.kernel_h), window.pad_bottom = draw.between(0, window.kernel_h);
  window.pad_left = draw.between(0, window.kernel_w), window.pad_right = draw.between(0, window.kernel_w);
  return window;
}

/// Of a convolution or pool; extents of 0 are for the caller to see.
void set_output(Workload& workload, int64_t channels) {
  const TensorForm& x = workload.inputs[0];
  const Window& window = workload.window;
  workload.output = nchw_form(
      f32, x.n, channels,
      output_extent(x.h, window.pad_top + window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h),
      output_extent(x.w, window.pad_left + window.pad_right, window.kernel_w, window.dilation_w, window.stride_w));
}

Workload conv2d(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::real_conv2d;
  int64_t c = extent(draw), k = extent(draw);
  if (draw.chance(25)) {
    workload.groups = c = draw.between(1, 40);
    k = c * draw.between(1, 2);
  } else if (draw.chance(20)) {
    workload.groups = draw.between(2, 4);
    c *= workload.groups, k *= workload.groups;
  }
  workload.inputs = {
      nchw_form(f32, draw.chance(70) ? 1 : draw.between(2, 4), c, draw.between(1, 20), draw.between(1, 20))};
  workload.window = window(draw);
  workload.epilogue.bias = draw.chance(60);
  set_output(workload, k);
  return workload;
}

Workload matmul(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::real_matmul;
  workload.batch = draw.chance(50) ? 1 : draw.between(2, 6);
  workload.transposed = draw.chance(50);
  workload.epilogue.bias = draw.chance(40);
  const int64_t batch = workload.batch, rows = extent(draw), depth = extent(draw), columns = extent(draw);
  workload.inputs = {nchw_form(f32, batch * rows, depth, 1, 1)};
  workload.output = nchw_form(f32, batch * rows, columns, 1, 1);
  if (draw.chance(50)) return workload;
  workload.inputs.push_back(workload.transposed ? nchw_form(f32, batch * columns, depth, 1, 1)
                                                : nchw_form(f32, batch * depth, columns, 1, 1));
  return workload;
}

/// Steps of a tensor that lies whole, with some extents broadcast or the order of two extents changed.
std::vector<int64_t> random_steps(Draw& draw, const std::vector<int64_t>& extents) {
  std::vector<size_t> order(extents.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() > 1 && draw.chance(15)) std::swap(order.back(), order[order.size() - 2]);
  std::vector<int64_t> steps(extents.size());
  int64_t step = draw.chance(90) ? 1 : 2;
  for (size_t i = order.size(); i-- > 0;) {
    if (draw.chance(25)) continue;
    steps[order[i]] = step;
    step *= extents[order[i]];
  }
  return steps;
}

bool takes(const Map& map, const MapInstruction& instruction) {
  Map longer = map;
  longer.instructions.push_back(instruction);
  try {
    value_types(longer);
    return true;
  } catch (const InternalError&) {
    return false;
  }
}

/// Instructions drawn until enough of them fit; then what nothing reads is taken into the last one, as far as its type
/// allows, or dropped.
Workload map(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::map;
  Map& map = workload.map;
  for (int64_t rank = draw.between(0, 4); rank > 0; --rank) map.extents.push_back(draw.between(1, rank == 1 ? 70 : 9));
  const auto add_operand = [&](DType dtype) {
    map.operands.push_back({dtype, draw.chance(25), random_steps(draw, map.extents)});
  };
  add_operand(
      draw.chance(70) ? f32 : draw.one_of({DType::s32, DType::s64, DType::boolean, DType::s8, DType::u8, DType::f16}));
  map.operands[0].constant = false;
  for (int64_t more = draw.between(0, 3); more > 0; --more) {
    add_operand(draw.chance(50)
                    ? map.operands[0].dtype
                    : draw.one_of({f32, f32, DType::s32, DType::s64, DType::boolean, DType::u8, DType::f16}));
  }
  const auto operands = static_cast<int>(map.operands.size());
  const int64_t wanted = draw.between(1, 8);
  while (static_cast<int64_t>(map.instructions.size()) < wanted) {
    MapInstruction instruction;
    instruction.op = static_cast<MapOp>(draw.between(0, static_cast<int64_t>(MapOp::to_f16)));
    const int last = operands + static_cast<int>(map.instructions.size()) - 1;
    for (int i = 0; i < argument_count(instruction.op); ++i) {
      instruction.arguments.push_back(draw.chance(50) ? last : static_cast<int>(draw.between(0, last)));
    }
    if (takes(map, instruction)) map.instructions.push_back(instruction);
  }
  // Whatever is of no use becomes a boolean that the result is selected by; the alternative is the result itself.
  std::vector<bool> used(map.operands.size() + map.instructions.size());
  for (const MapInstruction& instruction : map.instructions) {
    for (const int argument : instruction.arguments) used[static_cast<size_t>(argument)] = true;
  }
  for (size_t i = 0; i + 1 < used.size(); ++i) {
    if (used[i]) continue;
    const int result = operands + static_cast<int>(map.instructions.size()) - 1;
    int flag = static_cast<int>(i);
    const auto apply = [&](MapOp op, std::vector<int> arguments) {
      map.instructions.push_back({op, std::move(arguments)});
      return operands + static_cast<int>(map.instructions.size()) - 1;
    };
    if (value_types(map)[i] == DType::f16) flag = apply(MapOp::to_f32, {flag});
    flag = apply(MapOp::to_boolean, {flag});
    apply(MapOp::select, {flag, result, result});
  }
  map = simplified(map);
  for (const MapOperand& operand : map.operands) {
    if (!operand.constant) workload.inputs.push_back(list_form(operand.dtype, span(map, operand)));
  }
  workload.output = list_form(value_types(map).back(), map.elements());
  return workload;
}

Rows rows(Draw& draw) {
  const int64_t inner = draw.chance(60) ? 1 : draw.between(1, 40);
  return {draw.between(1, draw.chance(80) ? 12 : 200), draw.chance(20) ? draw.between(1, 2000) : extent(draw), inner};
}

Workload by_rows(Draw& draw) {
  Workload workload;
  workload.kind = draw.one_of({OpKind::reduce, OpKind::reduce, OpKind::softmax, OpKind::normalize});
  workload.rows = rows(draw);
  if (workload.kind == OpKind::normalize) workload.rows.inner = 1;
  const int64_t elements = workload.rows.elements();
  workload.inputs = {list_form(f32, elements)};
  workload.output = list_form(f32, elements);
  if (workload.kind == OpKind::softmax) workload.logarithm = draw.chance(40);
  if (workload.kind == OpKind::normalize) workload.centered = draw.chance(70), workload.epilogue.bias = draw.chance(70);
  if (workload.kind != OpKind::reduce) return workload;
  workload.reduction = static_cast<ReductionOp>(draw.between(0, static_cast<int64_t>(ReductionOp::arg_min)));
  const bool gives_index = workload.reduction >= ReductionOp::arg_max;
  workload.select_last = gives_index && draw.chance(50);
  const DType dtype = workload.reduction == ReductionOp::mean || draw.chance(70) ? f32 : DType::s32;
  workload.inputs[0].dtype = dtype;
  workload.output = list_form(gives_index ? DType::s64 : dtype, workload.rows.outer * workload.rows.inner);
  return workload;
}

Workload pool(Draw& draw) {
  Workload workload;
  workload.kind = draw.one_of({OpKind::real_max_pool, OpKind::real_average_pool});
  workload.window = window(draw);
  const int64_t c = draw.between(1, 40);
  workload.inputs = {nchw_form(f32, draw.between(1, 3), c, draw.between(1, 24), draw.between(1, 24))};
  set_output(workload, c);
  // ceil_mode: the last window begins inside the padded image and ends behind it.
  const TensorForm& x = workload.inputs[0];
  const Window& window = workload.window;
  TensorForm& y = workload.output;
  if (draw.chance(30) && y.h * window.stride_h < x.h + window.pad_top + window.pad_bottom) ++y.h;
  if (draw.chance(30) && y.w * window.stride_w < x.w + window.pad_left + window.pad_right) ++y.w;
  workload.count_include_pad = workload.kind == OpKind::real_average_pool && draw.chance(40);
  return workload;
}

Workload resample(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::resample;
  const int64_t n = draw.between(1, 3), c = draw.between(1, 20);
  workload.inputs = {nchw_form(f32, n, c, draw.between(1, 20), draw.between(1, 20))};
  workload.output = nchw_form(f32, n, c, draw.between(1, 30), draw.between(1, 30));
  workload.h_taps = draw.between(1, 4), workload.w_taps = draw.chance(70) ? workload.h_taps : draw.between(1, 6);
  return workload;
}

DType any_type(Draw& draw) {
  return draw.one_of({f32, f32, f32, DType::s32, DType::s64, DType::boolean, DType::s8, DType::u8});
}

Workload gather(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::gather;
  workload.rows = rows(draw);
  const int64_t picks = draw.between(1, 40);
  const DType dtype = any_type(draw);
  workload.inputs = {list_form(draw.one_of({DType::s32, DType::s64}), picks)};
  if (draw.chance(50)) workload.inputs.insert(workload.inputs.begin(), list_form(dtype, workload.rows.elements()));
  workload.output = list_form(dtype, workload.rows.outer * picks * workload.rows.inner);
  return workload;
}

Workload join(Draw& draw) {
  Workload workload;
  workload.kind = OpKind::join;
  workload.rows = rows(draw);
  workload.rows.length = 0;
  const DType dtype = any_type(draw);
  for (int64_t parts = draw.between(1, draw.chance(80) ? 4 : 12); parts > 0; --parts) {
    const int64_t length = draw.between(1, draw.chance(50) ? 3 : 40);
    workload.lengths.push_back(length);
    workload.rows.length += length;
    workload.inputs.push_back(list_form(dtype, workload.rows.outer * length * workload.rows.inner));
  }
  workload.output = list_form(dtype, workload.rows.elements());
  return workload;
}

}  // namespace

Workload random_real_workload(Draw& draw) {
  switch (draw.between(0, 9)) {
    case 0:
    case 1:
      return conv2d(draw);
    case 2:
      return matmul(draw);
    case 3:
    case 4:
      return map(draw);
    case 5:
      return by_rows(draw);
    case 6:
      return pool(draw);
    case 7:
      return resample(draw);
    case 8:
      return gather(draw);
    default:
      return join(draw);
  }
}

}  // namespace warpwright::testing
