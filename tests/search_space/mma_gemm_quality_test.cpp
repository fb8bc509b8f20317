// What the defaults of mma_gemm do, counted on the virtual device: no spills, no bank conflicts of ldmatrix and
// cp.async, 16 bytes and whole sectors to and from global memory, few instructions beside the products.
#include <gtest/gtest.h>

#include <memory>
#include <variant>

#include "measure/compiler.h"
#include "search_space/mma_gemm/mma_gemm.h"
#include "src/device/virtual/kernel_quality.h"
#include "src/device/virtual/virtual_device.h"
#include "src/reference/reference.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright::testing {
namespace {

struct Layer {
  int64_t size, channels, outputs, kernel, stride;
};

/// Convolutions of ResNet-50, but its stem.
constexpr Layer kLayers[] = {
    {56, 64, 64, 1, 1},   {56, 64, 64, 3, 1},    {56, 64, 256, 1, 1},   {56, 256, 64, 1, 1},   {56, 256, 128, 1, 1},
    {56, 128, 128, 3, 2}, {28, 128, 512, 1, 1},  {56, 256, 512, 1, 2},  {28, 512, 128, 1, 1},  {28, 128, 128, 3, 1},
    {28, 512, 256, 1, 1}, {28, 256, 256, 3, 2},  {14, 256, 1024, 1, 1}, {28, 512, 1024, 1, 2}, {14, 1024, 256, 1, 1},
    {14, 256, 256, 3, 1}, {14, 1024, 512, 1, 1}, {14, 512, 512, 3, 2},  {7, 512, 2048, 1, 1},  {14, 1024, 2048, 1, 2},
    {7, 2048, 512, 1, 1}, {7, 512, 512, 3, 1}};

struct Counted {
  KernelQuality quality;
  size_t ctas = 0;  // sampled
};

/// Of a launch on buffers of zeros: counts do not depend on codes.
Counted count(Compiler& compiler, const Workload& workload, const Config& config, const Target& target) {
  const KernelFamily& family = mma_gemm_family();
  const KernelSource source = family.emit(workload, config, target);
  const auto compiled = compiler.compile(source, target.arch());
  const auto& kernel = std::get<CompiledKernel>(compiled);
  const std::unique_ptr<ProfilingDevice> device = open_virtual_device(target, {.checked = false});
  Launch launch{device->load(kernel), source.launch, {}};
  // Weights are packed by tiles: never more than this.
  const int64_t constant_bytes = 4 * (workload.output.c + 256) * (workload.reduction_size() + 256);
  for (const KernelArgument& argument : source.arguments) {
    if (argument.role == KernelArgument::Role::scalar) {
      launch.arguments.push_back(bind_scalar(Tensor(argument.dtype, {1})));
      continue;
    }
    int64_t bytes = argument.bytes;
    if (argument.role == KernelArgument::Role::input) bytes = workload.inputs[0].buffer_bytes();
    if (argument.role == KernelArgument::Role::output) bytes = workload.output.buffer_bytes();
    if (argument.role == KernelArgument::Role::constant) bytes = constant_bytes;
    const DeviceAddress address = device->allocate(bytes, "buffer");
    device->upload(address, std::vector<std::byte>(static_cast<size_t>(bytes)));
    launch.arguments.push_back(bind_address(address));
  }
  const LaunchProfile profile = device->profile(launch);
  return {quality(kernel, profile), profile.sampled.size()};
}

class MmaGemmQuality : public ::testing::TestWithParam<int64_t> {};

TEST_P(MmaGemmQuality, OfDefaults) {
  const Target& target = target_preset("rtx4090");
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  for (const Layer& layer : kLayers) {
    const Workload workload =
        conv2d_workload(nhwc_form(DType::s8, GetParam(), layer.size, layer.size, layer.channels), DType::s8,
                        layer.outputs, 1, square_window(layer.kernel, layer.stride, layer.kernel / 2));
    const Config config = mma_gemm_family().default_config(workload, target);
    SCOPED_TRACE(workload.summary() + ": " + summary(config));
    const auto [good, ctas] = count(*compiler, workload, config, target);
    EXPECT_EQ(good.spill_bytes, 0);
    EXPECT_EQ(good.matrix_conflicts, 0u);
    EXPECT_EQ(good.copy_conflicts, 0u);
    EXPECT_EQ(good.loads.narrow + good.loads.partial, 0u);
    EXPECT_EQ(good.copies.narrow + good.copies.partial, 0u);
    // With split K each CTA counts itself.
    const size_t counters = config.at("split_k") > 1 ? ctas : 0;
    EXPECT_LE(good.stores.narrow, counters);
    EXPECT_LE(good.stores.partial, counters);
    if (!good.main_loop) continue;  // a single step of K
    const bool large = config.at("warp_m") * config.at("warp_n") >= 64 * 64;
    EXPECT_LE(good.main_loop->others_per_product(), large ? 2 : 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, MmaGemmQuality, ::testing::Values(1, 64),
                         [](const auto& info) { return "Batch" + std::to_string(info.param); });

}  // namespace
}  // namespace warpwright::testing
