// What defaults of light float32 families do, counted on the virtual device: no spills, no bank conflicts, and whole
// sectors to and from global memory.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

#include "cost_model/default_config.h"
#include "measure/compiler.h"
#include "measure/trial_buffers.h"
#include "src/device/virtual/kernel_quality.h"
#include "src/device/virtual/virtual_device.h"
#include "src/reference/reference.h"
#include "tests/search_space/real_workloads.h"

namespace warpwright::testing {
namespace {

KernelQuality quality_of_default(const Workload& workload) {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  const Target& target = target_preset("rtx4090");
  const Config config = default_config(workload, target);
  const KernelSource source = family_of(config).emit(workload, config, target);
  const auto compiled = compiler->compile(source, target.arch());
  const auto& kernel = std::get<CompiledKernel>(compiled);
  const Example example = make_example(workload, 1);
  const std::vector<Tensor> packed = pack_arguments(workload, config, source, example.values);
  const Tensor output(workload.output.dtype, {workload.output.buffer_elements()});
  const std::unique_ptr<ProfilingDevice> device = open_virtual_device(target, {.checked = false});
  const TrialBuffers buffers(*device, {workload, example, output, source.arguments, packed});
  return quality(kernel, device->profile({device->load(kernel), source.launch, buffers.arguments()}));
}

struct Case {
  std::string name;
  Workload workload;
  bool stores_single_results = false;  // a row each
};

std::vector<Case> cases() {
  const auto normalize = [](Rows rows) {
    Workload workload = rows_workload(OpKind::normalize, rows);
    workload.epilogue.bias = true;
    return workload;
  };
  return {{"Add", map_workload({256, 3136}, {{DType::f32, false, {3136, 1}}, {DType::f32, false, {3136, 1}}},
                               {{MapOp::add, {0, 1}}})},
          {"AddRow", map_workload({128, 768}, {{DType::f32, false, {768, 1}}, {DType::f32, true, {0, 1}}},
                                  {{MapOp::add, {0, 1}}})},
          {"Softmax", rows_workload(OpKind::softmax, {1536, 128, 1})},
          {"SoftmaxOfColumns", rows_workload(OpKind::softmax, {1, 21, 65536})},
          {"Normalize", normalize({1024, 768, 1})},
          {"NormalizeLongRows", normalize({64, 25600, 1})},
          {"SumOfRows", reduce_workload(ReductionOp::sum, DType::f32, {4096, 1024, 1}), true},
          {"MeanOfColumns", reduce_workload(ReductionOp::mean, DType::f32, {32, 196, 768})},
          {"ArgMaxOfColumns", reduce_workload(ReductionOp::arg_max, DType::f32, {1, 21, 65536})}};
}

class LightQuality : public ::testing::TestWithParam<Case> {};

TEST_P(LightQuality, OfDefaults) {
  const KernelQuality good = quality_of_default(GetParam().workload);
  EXPECT_EQ(good.spill_bytes, 0);
  EXPECT_EQ(good.other_conflicts, 0u);
  EXPECT_GT(good.loads.count, 0u);
  EXPECT_EQ(good.loads.partial, 0u);
  EXPECT_EQ(good.stores.partial > 0, GetParam().stores_single_results);
}

INSTANTIATE_TEST_SUITE_P(All, LightQuality, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace warpwright::testing
