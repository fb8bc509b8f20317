// The arithmetic of one real_gemm kernel.
#include "search_space/real_gemm/plan.h"

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/named_knobs.h"

namespace warpwright::real_gemm {

namespace {

const NamedKnobs<Knobs, 13> kKnobs = {{{"thread_m", &Knobs::thread_m},
                                       {"thread_n", &Knobs::thread_n},
                                       {"lanes_m", &Knobs::lanes_m},
                                       {"warps_m", &Knobs::warps_m},
                                       {"warps_n", &Knobs::warps_n},
                                       {"tile_k", &Knobs::tile_k},
                                       {"run_k", &Knobs::run_k},
                                       {"stages", &Knobs::stages},
                                       {"async", &Knobs::async},
                                       {"unroll", &Knobs::unroll},
                                       {"run_n", &Knobs::run_n},
                                       {"columns_first", &Knobs::columns_first},
                                       {"ctas_per_sm", &Knobs::ctas_per_sm}}};

constexpr int64_t kFloatBytes = 4;
constexpr int64_t kMostUnitLoads = 4;  // columns of a thread share the arithmetic of their k

}  // namespace

Knobs knobs_of(const Config& config) { return knobs_from(kKnobs, config); }

Knobs knobs_of(std::span<const int64_t> values) { return knobs_from(kKnobs, values); }

Config config_of(const Knobs& knobs) { return config_from(kKnobs, knobs, {kName, kSpaceVersion, {}}); }

Shape::Shape(const Workload& workload) : bias(workload.epilogue.bias) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  depth = workload.reduction_size();
  convolution = workload.kind == OpKind::real_conv2d;
  if (convolution) {
    const Window& window = workload.window;
    matrices = workload.groups;
    rows = y.c / workload.groups;
    columns = y.pixels();
    taps = window.kernel_h * window.kernel_w;
    fresh_taps = std::min(taps, 2 * window.stride_h * window.stride_w);
    may_leave_image = window.pad_top > 0 || window.pad_left > 0 || window.pad_bottom > 0 || window.pad_right > 0;
    const bool as_it_lies = taps == 1 && window.stride_h == 1 && window.stride_w == 1 && !may_leave_image;
    copy_vector = as_it_lies ? common_power_of_two(4, x.h * x.w) : 1;
    store_vector = common_power_of_two(4, y.h * y.w);
    return;
  }
  matrices = workload.batch;
  rows = workload.matrix_rows();
  columns = y.c;
  a = Source::rows;
  b = workload.inputs.size() == 1 ? Source::packed : workload.transposed ? Source::rows : Source::columns;
  copy_vector = store_vector = common_power_of_two(4, columns);
}

namespace {

/// `tile`: its rows (of m or n).
OperandTile operand_tile(Source source, int64_t tile, const Shape& shape, const Knobs& knobs, int64_t threads) {
  OperandTile out;
  switch (source) {
    case Source::packed:
      out.stride = tile, out.words = 4, out.unit_loads = 1, out.lanes = threads;
      out.units = tile * knobs.tile_k / 4, out.loads = ceil_div(out.units, threads);
      break;
    case Source::rows:
      // Lanes take 8 k of 4 rows, or 4 of 8: with this stride their floats fall into different banks.
      out.words = knobs.run_k == 4 && shape.depth % 4 == 0 ? 4 : 1;
      out.lanes = std::min<int64_t>(8, knobs.tile_k) / out.words;
      out.stride = round_up(tile, knobs.tile_k == 4 ? 8 : 4);
      if (out.stride % (knobs.tile_k == 4 ? 16 : 8) == 0) out.stride += knobs.tile_k == 4 ? 8 : 4;
      out.units = knobs.tile_k / out.words, out.unit_loads = out.units / out.lanes;
      out.step = threads / out.lanes, out.loads = ceil_div(tile, out.step);
      break;
    case Source::columns:
      out.words = knobs.run_k == 1 ? std::min(shape.copy_vector, tile) : 1;
      out.stride = tile, out.units = tile / out.words;
      out.unit_loads = std::max(std::clamp<int64_t>(out.units / 32, 1, kMostUnitLoads), ceil_div(out.units, threads));
      out.lanes = out.units / out.unit_loads;
      out.step = threads / out.lanes, out.loads = ceil_div(knobs.tile_k, out.step);
      break;
  }
  out.bytes = round_up(out.stride * knobs.tile_k * kFloatBytes, 16);
  return out;
}

int64_t places_of(const OperandTile& tile, Source source, const Shape& shape) {
  switch (source) {
    case Source::packed:
      return 2;
    case Source::rows:
      return 2 * tile.loads;
    case Source::columns:
      return tile.unit_loads * (shape.may_leave_image ? (shape.taps > 32 ? 4 : 3) : 2) + (shape.taps > 1 ? 3 : 1);
  }
  return 0;
}

int64_t estimate_registers(const Plan& plan) {
  const int64_t fragments = plan.run_k == 4 ? 4 * plan.thread_n + 28 : plan.thread_m + plan.thread_n;
  const int64_t places = places_of(plan.a, plan.shape.a, plan.shape) + places_of(plan.b, plan.shape.b, plan.shape);
  const int64_t held = plan.async != 0 ? 0 : plan.a.copies() * plan.a.words + plan.b.copies() * plan.b.words;
  return 24 + plan.thread_m * plan.thread_n + fragments + places + held;
}

}  // namespace

Plan::Plan(const Shape& shape_of, const Knobs& knobs)
    : Knobs(knobs),
      shape(shape_of),
      threads(warps_m * warps_n * 32),
      lanes_n(32 / lanes_m),
      threads_m(lanes_m * warps_m),
      threads_n(lanes_n * warps_n),
      tile_m(thread_m * threads_m),
      tile_n(thread_n * threads_n),
      m_tiles(ceil_div(shape.rows, tile_m)),
      n_tiles(ceil_div(shape.columns, tile_n)),
      ctas(m_tiles * n_tiles * shape.matrices),
      k_tiles(ceil_div(shape.depth, tile_k)),
      tail(shape.depth % tile_k),
      run_m(run_k == 4 ? 1 : std::min<int64_t>(4, thread_m)),
      store_lanes(std::min(run_n, shape.store_vector)),
      a(operand_tile(shape.a, tile_m, shape, knobs, threads)),
      b(operand_tile(shape.b, tile_n, shape, knobs, threads)),
      stage_bytes(a.bytes + b.bytes),
      smem_bytes(stages * stage_bytes),
      registers(estimate_registers(*this)) {}

}  // namespace warpwright::real_gemm
