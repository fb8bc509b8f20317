// mma_stem: exact on the virtual device in its checked mode over awkward stems, by its default and random Configs, on
// the architectures that it has code of its own for; no spills in what defaults compile to.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <variant>

#include "measure/compiler.h"
#include "measure/trial_buffers.h"
#include "search_space/mma_stem/mma_stem.h"
#include "src/device/device.h"
#include "src/device/virtual/kernel_quality.h"
#include "src/device/virtual/virtual_device.h"
#include "src/reference/reference.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright {
namespace {

using testing::square_window;

constexpr DType s8 = DType::s8, u8 = DType::u8, s32 = DType::s32;
constexpr auto zero = ZeroPointForm::zero, scalar = ZeroPointForm::scalar, per_channel = ZeroPointForm::per_channel;
constexpr auto none = ResidualForm::none, rounded = ResidualForm::rounded, unrounded = ResidualForm::unrounded;

/// What surrounds the shape of a stem.
struct Forms {
  DType x = s8, weights = s8, y = s8;
  ZeroPointForm x_zero_point = zero, weight_zero_point = zero;
  bool bias = true;
  ResidualForm residual = none;
  bool table = false;
};

Workload stem(const TensorForm& x, int64_t outputs, const Window& window, const Forms& forms) {
  Workload workload = testing::conv2d_workload(x, forms.y, outputs, 1, window);
  workload.inputs[0].dtype = forms.x;
  workload.weight_dtype = forms.weights;
  workload.x_zero_point = forms.x_zero_point;
  workload.weight_zero_point = forms.weight_zero_point;
  workload.epilogue = {forms.bias, forms.residual, forms.table, forms.table && forms.y == s8 ? u8 : forms.y};
  const TensorForm& y = workload.output;
  if (forms.residual != none) workload.inputs.push_back(nhwc_form(u8, y.n, y.h, y.w, y.c));
  return workload;
}

TensorForm image(int64_t n, int64_t h, int64_t w, int64_t c) { return nhwc_form(s8, n, h, w, c); }

std::vector<Workload> awkward_stems() {
  const Window asymmetric = {3, 3, 2, 2, 1, 1, 1, 0, 2, 0};
  std::vector<Workload> list = {
      stem(image(1, 32, 28, 3), 64, square_window(7, 2, 3), {u8, s8, u8, scalar, zero}),
      stem(image(3, 5, 13, 1), 33, square_window(3, 1, 1), {s8, u8, u8, scalar, per_channel, true, none, true}),
      stem(image(1, 17, 18, 3), 17, asymmetric, {u8, u8, s8, scalar, scalar, false, rounded}),
      stem(image(2, 9, 9, 2), 1, square_window(5, 1, 2), {s8, s8, s8, zero, zero, false}),
      stem(image(1, 20, 20, 4), 32, square_window(5, 2, 2), {s8, s8, u8, scalar, per_channel, true, unrounded, true}),
      stem(image(1, 16, 16, 4), 40, square_window(3, 1, 3, 2), {u8, s8, s8, scalar, scalar, true, rounded}),
      stem(image(1, 6, 7, 3), 16, square_window(1, 1, 0), {s8, u8, s8, zero, scalar}),
      stem(image(1, 24, 24, 3), 48, square_window(6, 2, 2), {u8, s8, u8, scalar, zero, true, unrounded}),
      stem(image(1, 11, 22, 3), 24, square_window(3, 1, 1), {u8, s8, s32, scalar, per_channel}),
      stem(image(2, 13, 12, 1), 6, square_window(2, 2, 0), {s8, s8, s32, zero, zero, false}),
      stem(image(1, 1, 1, 3), 10, square_window(3, 1, 1), {u8, s8, u8, scalar, zero}),
      stem(image(1, 40, 40, 3), 96, square_window(11, 4, 2), {u8, s8, u8, scalar, zero}),
      stem(image(1, 12, 14, 2), 20, {1, 5, 1, 3, 1, 2, 0, 4, 0, 1}, {u8, u8, u8, scalar, scalar}),
      stem(image(1, 14, 5, 3), 20, {5, 1, 3, 1, 2, 1, 3, 0, 5, 0}, {s8, u8, s8, scalar, scalar}),
  };
  // A slice of wider pixels: lanes that belong to others are not written.
  Workload sliced = stem(image(1, 7, 9, 3), 14, square_window(3, 2, 1), {u8, s8, u8, scalar, per_channel});
  sliced.output.pixel_stride = 48, sliced.output.channel_offset = 16;
  list.push_back(sliced);
  for (const Workload& workload : list) check(workload);
  return list;
}

Compiler& compiler() {
  static const std::unique_ptr<Compiler> nvrtc = open_nvrtc();
  return *nvrtc;
}

CompiledKernel compiled(const Workload& workload, const Config& config, const Target& target) {
  const auto result = compiler().compile(mma_stem_family().emit(workload, config, target), target.arch());
  if (const Outcome* failure = std::get_if<Outcome>(&result)) {
    ADD_FAILURE() << failure->message << "\n" << failure->log;
    return {};
  }
  return std::get<CompiledKernel>(result);
}

std::vector<Tensor> pack_all(const Workload& workload, const Config& config, const KernelSource& kernel,
                             const Values& values) {
  std::vector<Tensor> packed(kernel.arguments.size());
  for (size_t i = 0; i < packed.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    if (!argument.name.empty()) packed[i] = mma_stem_family().pack(workload, config, argument.name, values);
  }
  return packed;
}

void expect_exact(const Workload& workload, const Config& config, const Target& target) {
  const KernelFamily& family = mma_stem_family();
  const KernelSource kernel = family.emit(workload, config, target);
  const CompiledKernel binary = compiled(workload, config, target);
  EXPECT_EQ(binary.static_smem_bytes + kernel.launch.dynamic_smem_bytes,
            family.resources(workload, config, target).smem_bytes);
  const Example example = make_example(workload, 1);
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : example.inputs) inputs.push_back(&input);
  const Tensor expected = run_reference(workload, example.values, inputs);
  const std::vector<Tensor> packed = pack_all(workload, config, kernel, example.values);
  const std::unique_ptr<Device> device = open_device("virtual:" + target.name);
  TrialBuffers buffers(*device, {workload, example, expected, kernel.arguments, packed});
  buffers.poison();
  const Outcome outcome = device->launch({device->load(binary), kernel.launch, buffers.arguments()});
  ASSERT_TRUE(outcome.ok()) << outcome.message << "\n" << outcome.log;
  const auto fault = buffers.fault("launch");
  EXPECT_FALSE(fault.has_value()) << fault->message;
}

class MmaStems : public ::testing::TestWithParam<size_t> {};

TEST_P(MmaStems, EqualTheReference) {
  const Workload workload = awkward_stems().at(GetParam());
  const KernelFamily& family = mma_stem_family();
  std::mt19937_64 random(GetParam());
  for (const char* card : {"t4", "a100", "rtx3090", "rtx4090"}) {
    const Target& target = target_preset(card);
    ASSERT_EQ(family.why_unsupported(workload, target), std::nullopt);
    const Space space = family.space(workload, target);
    const Config usual = family.default_config(workload, target);
    EXPECT_EQ(space.why_illegal(usual), std::nullopt);
    for (const Config& config : {usual, space.sample(random, 100000).value()}) {
      SCOPED_TRACE(summary(config) + " of " + workload.summary() + " on " + card);
      expect_exact(workload, config, target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MmaStems, ::testing::Range(size_t{0}, awkward_stems().size()));

std::vector<Workload> typical_stems() {
  return {stem(image(1, 224, 224, 3), 64, square_window(7, 2, 3), {u8, s8, u8, scalar, zero}),
          stem(image(1, 224, 224, 3), 32, square_window(3, 2, 1), {u8, s8, u8, scalar, zero})};
}

TEST(MmaStem, DefaultsCompileWithoutSpills) {
  for (const char* card : {"t4", "a100", "rtx3090", "rtx4090", "h100"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload : typical_stems()) {
      const Config config = mma_stem_family().default_config(workload, target);
      SCOPED_TRACE(summary(config) + " of " + workload.summary() + " on " + card);
      const CompiledKernel kernel = compiled(workload, config, target);
      EXPECT_EQ(kernel.spill_store_bytes, 0);
      EXPECT_NE(kernel.ptx.find("mma.sync"), std::string::npos);
    }
  }
}

TEST(MmaStem, DefaultsHaveNoBankConflictsAndWideAccesses) {
  const Target& target = target_preset("rtx4090");
  // Without padding: a warp that copies in part and fills in part needs more wavefronts than its bytes.
  for (const Workload& workload :
       {stem(image(1, 232, 232, 3), 64, square_window(7, 2, 0), {u8, s8, u8, scalar, zero}),
        stem(image(1, 228, 228, 3), 32, square_window(3, 2, 0), {u8, s8, u8, scalar, zero})}) {
    const Config config = mma_stem_family().default_config(workload, target);
    SCOPED_TRACE(summary(config) + " of " + workload.summary());
    const KernelSource kernel = mma_stem_family().emit(workload, config, target);
    const CompiledKernel binary = compiled(workload, config, target);
    const Example example = make_example(workload, 1);
    const Tensor expected(workload.output.dtype, {workload.output.buffer_elements()});
    const std::vector<Tensor> packed = pack_all(workload, config, kernel, example.values);
    const std::unique_ptr<ProfilingDevice> device = open_virtual_device(target, {.checked = false});
    TrialBuffers buffers(*device, {workload, example, expected, kernel.arguments, packed});
    const KernelQuality counts =
        quality(binary, device->profile({device->load(binary), kernel.launch, buffers.arguments()}));
    EXPECT_EQ(counts.matrix_conflicts, 0u);
    EXPECT_EQ(counts.copy_conflicts, 0u);
    EXPECT_EQ(counts.other_conflicts, 0u);
    EXPECT_EQ(counts.copies.narrow, 0u);
    EXPECT_EQ(counts.stores.partial, 0u);
  }
}

TEST(MmaStem, TwoConfigsNeverShareASource) {
  for (const char* card : {"t4", "rtx4090"}) {
    const Target& target = target_preset(card);
    for (const Workload& workload : typical_stems()) {
      const Space space = mma_stem_family().space(workload, target);
      std::mt19937_64 random(5);
      std::set<std::string> configs, sources;
      for (int draw = 0; draw < 300; ++draw) {
        const Config config = space.sample(random, 100000).value();
        configs.insert(key(config));
        sources.insert(mma_stem_family().emit(workload, config, target).source);
      }
      EXPECT_EQ(configs.size(), sources.size()) << workload.summary();
      EXPECT_GE(sources.size(), 250u) << workload.summary();
    }
  }
}

TEST(MmaStem, SaysWhatItDoesNotTake) {
  const Target& target = target_preset("rtx4090");
  const auto reason = [&](const TensorForm& x, const Window& window) {
    return mma_stem_family().why_unsupported(stem(x, 16, window, {}), target).value_or("");
  };
  EXPECT_NE(reason(image(1, 8, 8, 5), square_window(3, 1, 1)).find("5 channels"), std::string::npos);
  EXPECT_NE(reason(image(1, 80, 80, 3), square_window(17, 1, 8)).find("289 taps"), std::string::npos);
  Target old = target;
  old.compute_major = 7, old.compute_minor = 0;
  EXPECT_NE(mma_stem_family().why_unsupported(typical_stems()[0], old).value_or("").find("tensor cores"),
            std::string::npos);
}

}  // namespace
}  // namespace warpwright
