// Shapes at which vectors, lanes and rounds end unevenly.
#include "tests/search_space/real_workloads.h"

#include "tests/reference/examples/workloads.h"

namespace warpwright::testing {

namespace {

TensorForm linear(DType dtype, int64_t elements) { return nchw_form(dtype, 1, elements, 1, 1); }

}  // namespace

Workload map_workload(const std::vector<int64_t>& extents, std::vector<MapOperand> operands,
                      std::vector<MapInstruction> instructions) {
  Workload workload;
  workload.kind = OpKind::map;
  workload.map = simplified({extents, std::move(operands), std::move(instructions)});
  for (const MapOperand& operand : workload.map.operands) {
    if (!operand.constant) workload.inputs.push_back(linear(operand.dtype, span(workload.map, operand)));
  }
  workload.output = linear(value_types(workload.map).back(), workload.map.elements());
  return workload;
}

Workload rows_workload(OpKind kind, Rows rows) {
  Workload workload;
  workload.kind = kind;
  workload.rows = rows;
  workload.inputs = {linear(DType::f32, rows.elements())};
  workload.output = workload.inputs[0];
  return workload;
}

Workload reduce_workload(ReductionOp op, DType x, Rows rows) {
  Workload workload = rows_workload(OpKind::reduce, rows);
  const bool gives_index = op == ReductionOp::arg_max || op == ReductionOp::arg_min;
  workload.reduction = op;
  workload.inputs[0].dtype = x;
  workload.output = linear(gives_index ? DType::s64 : x, rows.outer * rows.inner);
  return workload;
}

namespace {

MapOperand input(DType dtype, std::vector<int64_t> steps) { return {dtype, false, std::move(steps)}; }
MapOperand constant(DType dtype, std::vector<int64_t> steps) { return {dtype, true, std::move(steps)}; }

Workload pool_workload(OpKind kind, int64_t extent, Window window, bool count_include_pad = false) {
  Workload workload;
  workload.kind = kind;
  workload.window = window;
  workload.count_include_pad = count_include_pad;
  const int64_t span = extent + window.pad_top + window.pad_bottom - window.dilation_h * (window.kernel_h - 1) - 1;
  const int64_t out = span / window.stride_h + 1;
  workload.inputs = {nchw_form(DType::f32, 2, 3, extent, extent)};
  workload.output = nchw_form(DType::f32, 2, 3, out, out);
  return workload;
}

Workload resample_workload(int64_t planes, int64_t in, int64_t out, int64_t taps) {
  Workload workload;
  workload.kind = OpKind::resample;
  workload.inputs = {nchw_form(DType::f32, 1, planes, in, in)};
  workload.output = nchw_form(DType::f32, 1, planes, out, out);
  workload.h_taps = workload.w_taps = taps;
  return workload;
}

Workload gather_workload(DType dtype, DType index, Rows rows, int64_t picks, bool has_table) {
  Workload workload;
  workload.kind = OpKind::gather;
  workload.rows = rows;
  if (!has_table) workload.inputs = {linear(dtype, rows.elements())};
  workload.inputs.push_back(linear(index, picks));
  workload.output = linear(dtype, rows.outer * picks * rows.inner);
  return workload;
}

Workload join_workload(DType dtype, int64_t outer, std::vector<int64_t> lengths, int64_t inner) {
  Workload workload;
  workload.kind = OpKind::join;
  workload.lengths = lengths;
  workload.rows = {outer, 0, inner};
  for (const int64_t length : lengths) {
    workload.rows.length += length;
    workload.inputs.push_back(linear(dtype, outer * length * inner));
  }
  workload.output = linear(dtype, workload.rows.elements());
  return workload;
}

Workload move_workload(DType dtype) {
  Workload workload;
  workload.kind = OpKind::move;
  workload.inputs = {nchw_form(dtype, 1, 5, 3, 7)};
  workload.output = nchw_form(dtype, 1, 7, 5, 5);
  // Transposed, with a border of one along an axis.
  workload.movement.axes = {{7, 1, 0, 7}, {5, 21, 0, 5}, {5, 7, 1, 4}};
  workload.movement.start = -7;
  return workload;
}

std::vector<Workload> maps() {
  constexpr DType f32 = DType::f32, s32 = DType::s32, s64 = DType::s64, boolean = DType::boolean;
  using enum MapOp;
  return {
      map_workload({1003}, {input(f32, {1}), input(f32, {1})}, {{add, {0, 1}}}),
      map_workload({}, {input(f32, {})}, {{negate, {0}}}),
      map_workload({2, 7, 33}, {input(f32, {231, 33, 1}), constant(f32, {0, 1, 0}), constant(f32, {0, 1, 0})},
                   {{multiply, {0, 1}}, {add, {3, 2}}}),
      map_workload({5, 32}, {input(f32, {32, 1}), constant(f32, {0, 1})}, {{add, {0, 1}}}),
      map_workload({3, 5, 8}, {input(f32, {5, 1, 0}), input(f32, {40, 8, 1})}, {{subtract, {1, 0}}}),
      map_workload({6, 10}, {input(f32, {1, 6}), input(f32, {10, 1})}, {{maximum, {0, 1}}}),
      map_workload({7, 9}, {input(f32, {9, 1}), input(f32, {1, 0}), input(f32, {0, 1})},
                   {{minimum, {0, 1}}, {divide, {3, 2}}}),
      map_workload({4, 300},
                   {input(f32, {300, 1}), constant(f32, {0, 0}), constant(f32, {0, 0}), constant(f32, {0, 0})},
                   {{divide, {0, 1}}, {error_function, {4}}, {add, {5, 2}}, {multiply, {0, 6}}, {multiply, {7, 3}}}),
      map_workload({500}, {input(f32, {1})},
                   {{exponential, {0}},
                    {logarithm, {0}},
                    {tanh, {0}},
                    {sine, {0}},
                    {cosine, {0}},
                    {square_root, {0}},
                    {reciprocal, {0}},
                    {add, {1, 2}},
                    {add, {8, 3}},
                    {add, {9, 4}},
                    {add, {10, 5}},
                    {add, {11, 6}},
                    {add, {12, 7}}}),
      map_workload({500}, {input(f32, {1}), input(f32, {1})}, {{power, {0, 1}}}),
      map_workload({500}, {input(f32, {1}), input(f32, {1})}, {{remainder, {0, 1}}}),
      map_workload({64}, {input(f32, {1})},
                   {{floor, {0}},
                    {ceil, {0}},
                    {round, {0}},
                    {sign, {0}},
                    {absolute, {0}},
                    {add, {1, 2}},
                    {add, {3, 4}},
                    {add, {5, 6}},
                    {add, {7, 8}}}),
      // A dequantization with a zero point a channel, and a quantization.
      map_workload({2, 3, 25},
                   {input(DType::s8, {75, 25, 1}), constant(DType::s8, {0, 1, 0}), constant(f32, {0, 1, 0})},
                   {{to_s32, {0}}, {to_s32, {1}}, {subtract, {3, 4}}, {to_f32, {5}}, {multiply, {6, 2}}}),
      map_workload({1000}, {input(f32, {1}), constant(f32, {0}), constant(s32, {0})},
                   {{divide, {0, 1}}, {round, {3}}, {to_s32, {4}}, {add, {5, 2}}, {to_u8, {6}}}),
      map_workload({77}, {input(DType::u8, {1}), input(DType::u8, {1})},
                   {{to_s32, {0}}, {to_s32, {1}}, {subtract, {2, 3}}, {to_s8, {4}}}),
      map_workload({40}, {input(f32, {1}), input(f32, {1}), input(boolean, {1})},
                   {{less, {0, 1}}, {is_nan, {0}}, {logical_or, {3, 4}}, {logical_xor, {5, 2}}, {logical_not, {6}}}),
      map_workload({3, 40}, {input(boolean, {0, 1}), input(f32, {40, 1}), constant(f32, {0, 0})},
                   {{select, {0, 1, 2}}}),
      map_workload({90}, {input(s64, {1}), input(s64, {1}), constant(s64, {0})},
                   {{divide, {0, 1}},
                    {modulo, {0, 1}},
                    {remainder, {0, 1}},
                    {add, {3, 4}},
                    {multiply, {6, 2}},
                    {subtract, {7, 5}}}),
      map_workload({90}, {input(s32, {1}), input(s32, {1})},
                   {{divide, {0, 1}},
                    {modulo, {0, 1}},
                    {remainder, {0, 1}},
                    {sign, {0}},
                    {absolute, {1}},
                    {multiply, {2, 3}},
                    {subtract, {7, 4}},
                    {add, {8, 5}},
                    {minimum, {9, 6}}}),
      map_workload({700}, {input(DType::f16, {1}), input(DType::f16, {1})},
                   {{to_f32, {0}}, {to_f32, {1}}, {multiply, {2, 3}}, {to_f16, {4}}}),
      map_workload({3, 21}, {input(f32, {21, 1}), constant(DType::f16, {0, 1})},
                   {{to_f32, {1}}, {add, {0, 2}}, {to_f16, {3}}}),
      map_workload({50}, {input(f32, {1})}, {{to_s64, {0}}, {to_s32, {1}}, {to_s32, {0}}, {equal, {2, 3}}}),
  };
}

std::vector<Workload> rows() {
  std::vector<Workload> list;
  for (const ReductionOp op :
       {ReductionOp::sum, ReductionOp::mean, ReductionOp::max, ReductionOp::min, ReductionOp::product,
        ReductionOp::sum_square, ReductionOp::sum_abs, ReductionOp::arg_max, ReductionOp::arg_min}) {
    list.push_back(reduce_workload(op, DType::f32, {5, 100, 1}));
    list.push_back(reduce_workload(op, DType::f32, {3, 9, 20}));
    if (op != ReductionOp::mean) list.push_back(reduce_workload(op, DType::s32, {4, 33, 1}));
  }
  for (const int64_t length : {1, 5, 8, 32, 129, 1000}) {
    list.push_back(reduce_workload(ReductionOp::sum, DType::f32, {7, length, 1}));
    list.push_back(reduce_workload(ReductionOp::max, DType::f32, {2, length, 1}));
  }
  list.push_back(reduce_workload(ReductionOp::arg_max, DType::f32, {2, 300, 3}));
  list.back().select_last = true;
  for (const Rows rows :
       {Rows{3, 128, 1}, Rows{5, 49, 1}, Rows{2, 3000, 1}, Rows{9, 4, 1}, Rows{2, 21, 12}, Rows{1, 100, 5}}) {
    list.push_back(rows_workload(OpKind::softmax, rows));
    list.push_back(list.back());
    list.back().logarithm = true;
  }
  for (const Rows rows : {Rows{5, 768, 1}, Rows{3, 101, 1}, Rows{2, 5000, 1}, Rows{6, 8, 1}}) {
    list.push_back(rows_workload(OpKind::normalize, rows));
    list.back().epilogue.bias = true;
    list.push_back(rows_workload(OpKind::normalize, rows));
    list.back().centered = false;
  }
  return list;
}

std::vector<Workload> images() {
  std::vector<Workload> list;
  for (const OpKind kind : {OpKind::real_max_pool, OpKind::real_average_pool}) {
    list.push_back(pool_workload(kind, 12, square_window(2, 2, 0)));
    list.push_back(pool_workload(kind, 13, square_window(3, 2, 1)));
    list.push_back(pool_workload(kind, 12, square_window(3, 1, 1)));
    list.push_back(pool_workload(kind, 17, square_window(3, 1, 0, 3)));
    list.push_back(pool_workload(kind, 70, square_window(66, 1, 0)));
  }
  list.push_back(pool_workload(OpKind::real_average_pool, 10, square_window(5, 3, 2), true));
  list.push_back(resample_workload(5, 7, 14, 2));
  list.push_back(resample_workload(8, 5, 12, 1));
  list.push_back(resample_workload(3, 9, 4, 6));
  list.push_back(resample_workload(1, 1, 1, 1));
  return list;
}

std::vector<Workload> copies() {
  return {
      gather_workload(DType::f32, DType::s64, {1, 50, 64}, 9, true),
      gather_workload(DType::f32, DType::s32, {3, 10, 6}, 7, false),
      gather_workload(DType::s64, DType::s64, {2, 10, 1}, 5, false),
      gather_workload(DType::u8, DType::s32, {2, 11, 24}, 8, false),
      gather_workload(DType::boolean, DType::s64, {1, 11, 3}, 30, false),
      join_workload(DType::f32, 3, {4, 8, 16}, 1),
      join_workload(DType::f32, 1, {3, 5}, 14),
      join_workload(DType::s8, 5, {3, 2, 7}, 3),
      join_workload(DType::s64, 2, {1, 2}, 6),
      join_workload(DType::boolean, 2, {16}, 1),
      move_workload(DType::s64),
      move_workload(DType::boolean),
  };
}

}  // namespace

std::vector<Workload> real_kernel_workloads() {
  std::vector<Workload> list;
  for (const auto& some : {maps(), rows(), images(), copies()}) {
    list.insert(list.end(), some.begin(), some.end());
  }
  return list;
}

std::vector<Workload> all_light_workloads() {
  std::vector<Workload> list = light_workloads(), real = real_kernel_workloads();
  list.insert(list.end(), real.begin(), real.end());
  return list;
}

}  // namespace warpwright::testing
