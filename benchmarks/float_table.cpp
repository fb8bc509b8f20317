// A table of float32 kernels that move memory: estimated time of the default Config, and of the best of its space,
// against the roofline of the card's bandwidth.
//
//   float_table DEVICE [CONFIGS] > TABLE.md
//
// CONFIGS: how many of the space are timed to find the best; 0 without it. Nothing is verified here: the tests and
// random_suite do that.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/timing_bench.h"
#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"

using namespace warpwright;

namespace {

struct Row {
  std::string name;
  Workload workload;
};

TensorForm linear(DType dtype, int64_t elements) { return nchw_form(dtype, 1, elements, 1, 1); }

Workload by_rows(OpKind kind, Rows rows) {
  Workload workload;
  workload.kind = kind;
  workload.rows = rows;
  workload.inputs = {linear(DType::f32, rows.elements())};
  workload.output = linear(DType::f32, kind == OpKind::reduce ? rows.outer * rows.inner : rows.elements());
  workload.epilogue.bias = kind == OpKind::normalize;
  return workload;
}

Workload reduction(ReductionOp op, Rows rows) {
  Workload workload = by_rows(OpKind::reduce, rows);
  workload.reduction = op;
  if (op == ReductionOp::arg_max) workload.output.dtype = DType::s64;
  return workload;
}

Workload map_of(std::vector<int64_t> extents, std::vector<MapOperand> operands,
                std::vector<MapInstruction> instructions) {
  Workload workload;
  workload.kind = OpKind::map;
  workload.map = simplified({std::move(extents), std::move(operands), std::move(instructions)});
  for (const MapOperand& operand : workload.map.operands) {
    if (!operand.constant) workload.inputs.push_back(linear(operand.dtype, span(workload.map, operand)));
  }
  workload.output = linear(value_types(workload.map).back(), workload.map.elements());
  return workload;
}

/// x / sqrt(2), its error function, + 1, * x, * 1/2.
Workload gelu(int64_t rows, int64_t columns) {
  using enum MapOp;
  const MapOperand number{DType::f32, true, {0}};
  return map_of({rows * columns}, {{DType::f32, false, {1}}, number, number, number},
                {{divide, {0, 1}}, {error_function, {4}}, {add, {5, 2}}, {multiply, {0, 6}}, {multiply, {7, 3}}});
}

/// x of the extents and an operand of the steps.
Workload sum_of(std::vector<int64_t> extents, std::vector<int64_t> steps, bool constant) {
  std::vector<int64_t> whole(extents.size(), 1);
  for (size_t i = extents.size() - 1; i > 0; --i) whole[i - 1] = whole[i] * extents[i];
  return map_of(std::move(extents), {{DType::f32, false, whole}, {DType::f32, constant, std::move(steps)}},
                {{MapOp::add, {0, 1}}});
}

Workload doubled(int64_t channels, int64_t extent) {
  Workload workload;
  workload.kind = OpKind::resample;
  workload.inputs = {nchw_form(DType::f32, 1, channels, extent, extent)};
  workload.output = nchw_form(DType::f32, 1, channels, 2 * extent, 2 * extent);
  workload.h_taps = workload.w_taps = 2;
  return workload;
}

Workload pool(OpKind kind, int64_t n, int64_t c, int64_t extent, int64_t out, Window window) {
  Workload workload;
  workload.kind = kind;
  workload.inputs = {nchw_form(DType::f32, n, c, extent, extent)};
  workload.output = nchw_form(DType::f32, n, c, out, out);
  workload.window = window;
  return workload;
}

Workload embedding(int64_t words, int64_t width, int64_t picks) {
  Workload workload;
  workload.kind = OpKind::gather;
  workload.rows = {1, words, width};
  workload.inputs = {linear(DType::s64, picks)};
  workload.output = linear(DType::f32, picks * width);
  return workload;
}

Workload join_of_two(int64_t elements) {
  Workload workload;
  workload.kind = OpKind::join;
  workload.rows = {1, 2, elements};
  workload.lengths = {1, 1};
  workload.inputs = {linear(DType::f32, elements), linear(DType::f32, elements)};
  workload.output = linear(DType::f32, 2 * elements);
  return workload;
}

std::vector<Row> rows() {
  const Window halves{2, 2, 2, 2, 1, 1, 0, 0, 0, 0};
  return {{"softmax 12x128 rows of 128", by_rows(OpKind::softmax, {1536, 128, 1})},
          {"softmax 12x512 rows of 512", by_rows(OpKind::softmax, {6144, 512, 1})},
          {"softmax over 21 channels of 512x512", by_rows(OpKind::softmax, {1, 21, 262144})},
          {"layer normalization 128x768", by_rows(OpKind::normalize, {128, 768, 1})},
          {"layer normalization 4096x1024", by_rows(OpKind::normalize, {4096, 1024, 1})},
          {"instance normalization 64x25600", by_rows(OpKind::normalize, {64, 25600, 1})},
          {"gelu 128x3072", gelu(128, 3072)},
          {"gelu 4096x3072", gelu(4096, 3072)},
          {"add bias 128x768", sum_of({128, 768}, {0, 1}, true)},
          {"add mask 12x128x128", sum_of({12, 128, 128}, {0, 0, 1}, false)},
          {"add channels 256x56x56", sum_of({256, 3136}, {1, 0}, true)},
          {"add 8x256x56x56", sum_of({8, 256, 3136}, {802816, 3136, 1}, false)},
          {"mean 2048 rows of 49", reduction(ReductionOp::mean, {2048, 49, 1})},
          {"sum 4096 rows of 1024", reduction(ReductionOp::sum, {4096, 1024, 1})},
          {"mean over axis 1 of 32x196x768", reduction(ReductionOp::mean, {32, 196, 768})},
          {"arg_max over 21 channels of 512x512", reduction(ReductionOp::arg_max, {1, 21, 262144})},
          {"resize 2x 64x40x40", doubled(64, 40)},
          {"resize 2x 256x128x128", doubled(256, 128)},
          {"max_pool 3x3 s2 64x112x112", pool(OpKind::real_max_pool, 1, 64, 112, 56, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1})},
          {"max_pool 2x2 s2 8x64x224x224", pool(OpKind::real_max_pool, 8, 64, 224, 112, halves)},
          {"average_pool 3x3 s1 256x56x56",
           pool(OpKind::real_average_pool, 1, 256, 56, 56, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1})},
          {"embedding, 128 of 30522x768", embedding(30522, 768, 128)},
          {"join of two 256x80x80", join_of_two(256 * 80 * 80)}};
}

/// Inputs, constants and output once; of a table that is picked from, what is picked.
double least_bytes_of(const Workload& workload, const Values& values) {
  int64_t bytes = workload.output.buffer_bytes();
  for (const TensorForm& input : workload.inputs) bytes += input.buffer_bytes();
  for (const auto& [name, value] : values) {
    bytes += name == "table" ? workload.output.buffer_bytes() : static_cast<int64_t>(value.bytes.size());
  }
  return static_cast<double>(bytes);
}

void print_row(TimingBench& bench, const Row& row, int64_t configs) {
  check(row.workload);
  const Example example = make_example(row.workload, 1);
  const double roofline_us = least_bytes_of(row.workload, example.values) / (bench.target().memory_gb_per_s * 1e3);
  const Config config = default_config(row.workload, bench.target());
  const auto time_us = [&](const Config& each) {
    const Outcome outcome = bench.time(row.workload, each, example);
    if (!outcome.ok()) throw EnvironmentError(row.name + ": " + outcome.message);
    return std::pair{outcome.samples_us.front(), outcome.limited_by};
  };
  const auto [default_us, limited_by] = time_us(config);
  double best_us = default_us;
  for (const Config& other : family_of(config).space(row.workload, bench.target()).enumerate(configs)) {
    best_us = std::min(best_us, time_us(other).first);
  }
  fmt::print("| {} | {} | {:.2f} | {} | {:.2f} | {:.2f} |\n", row.name, summary(config), default_us, limited_by,
             best_us, roofline_us);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: float_table DEVICE [CONFIGS]\n");
    return 2;
  }
  try {
    TimingBench bench(argv[1]);
    fmt::print("| kernel | default | us | limited by | best, us | roofline, us |\n|---|---|---|---|---|---|\n");
    for (const Row& row : rows()) print_row(bench, row, argc > 2 ? std::strtoll(argv[2], nullptr, 10) : 0);
  } catch (const Error& error) {
    fmt::print(stderr, "float_table: {}\n", error.what());
    return 1;
  }
  return 0;
}
