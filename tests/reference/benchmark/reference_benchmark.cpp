// Multiply-adds a second (items_per_second) of the reference on usual layers.
#include <benchmark/benchmark.h>

#include <string>

#include "src/reference/reference.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright {
namespace {

using testing::conv2d_workload;
using testing::dense_workload;
using testing::square_window;

void run_workload(benchmark::State& state, const Workload& workload) {
  const Example example = make_example(workload, 1);
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : example.inputs) inputs.push_back(&input);
  for (auto _ : state) benchmark::DoNotOptimize(run_reference(workload, example.values, inputs));
  state.SetItemsProcessed(state.iterations() * workload.multiply_adds());
}

void register_all() {
  auto add = [](const std::string& name, const Workload& workload) {
    benchmark::RegisterBenchmark(name.c_str(), [workload](benchmark::State& state) { run_workload(state, workload); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  constexpr DType s8 = DType::s8, u8 = DType::u8;
  add("conv 1x1 56x56x64 to 256", conv2d_workload(nhwc_form(s8, 1, 56, 56, 64), s8, 256, 1, square_window(1, 1, 0)));
  add("conv 3x3 56x56x64 to 64", conv2d_workload(nhwc_form(s8, 1, 56, 56, 64), s8, 64, 1, square_window(3, 1, 1)));
  add("conv 3x3 7x7x512 to 512", conv2d_workload(nhwc_form(s8, 1, 7, 7, 512), s8, 512, 1, square_window(3, 1, 1)));
  add("conv 7x7 s2 224x224x3 to 64", conv2d_workload(nhwc_form(u8, 1, 224, 224, 3), u8, 64, 1, square_window(7, 2, 3)));
  add("conv 1x1 112x112x16 to 96", conv2d_workload(nhwc_form(u8, 1, 112, 112, 16), u8, 96, 1, square_window(1, 1, 0)));
  add("depthwise 3x3 112x112x96", conv2d_workload(nhwc_form(u8, 1, 112, 112, 96), u8, 96, 96, square_window(3, 1, 1)));
  add("dense 1x2048 to 1000", dense_workload(s8, s8, 1, 2048, 1000));
  add("dense 128x1024 to 1024", dense_workload(s8, s8, 128, 1024, 1024));
}

}  // namespace
}  // namespace warpwright

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  warpwright::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
