// Families for products with few rows: exact on the virtual device in its checked mode over awkward shapes, defaults
// and random Configs, on the architectures that they have code of their own for; no spills in what defaults compile to.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <variant>

#include "measure/compiler.h"
#include "measure/trial_buffers.h"
#include "search_space/dp4a_gemv/dp4a_gemv.h"
#include "search_space/mma_swapped/mma_swapped.h"
#include "src/device/device.h"
#include "src/reference/reference.h"
#include "tests/reference/examples/workloads.h"

namespace warpwright {
namespace {

constexpr DType s8 = DType::s8, u8 = DType::u8, s32 = DType::s32;
constexpr auto zero = ZeroPointForm::zero, scalar = ZeroPointForm::scalar, per_channel = ZeroPointForm::per_channel;
constexpr auto none = ResidualForm::none, rounded = ResidualForm::rounded, unrounded = ResidualForm::unrounded;

const std::vector<const KernelFamily*> kFamilies = {&dp4a_gemv_family(), &mma_swapped_family()};

struct Forms {
  DType x = s8, weights = s8, y = s8;
  ZeroPointForm x_zero_point = zero, weight_zero_point = zero;
  bool bias = true;
  ResidualForm residual = none;
  bool table = false;
};

Workload with(Workload workload, const Forms& forms) {
  workload.inputs[0].dtype = forms.x;
  workload.weight_dtype = forms.weights;
  workload.output.dtype = forms.y;
  workload.x_zero_point = forms.x_zero_point;
  workload.weight_zero_point = forms.weight_zero_point;
  workload.epilogue = {forms.bias, forms.residual, forms.table, forms.table && forms.y == s8 ? u8 : forms.y};
  const TensorForm& y = workload.output;
  if (forms.residual != none) workload.inputs.push_back(nhwc_form(u8, y.n, y.h, y.w, y.c));
  check(workload);
  return workload;
}

Workload dense(int64_t rows, int64_t inputs, int64_t outputs, const Forms& forms) {
  return with(testing::dense_workload(s8, s8, rows, inputs, outputs), forms);
}

Workload conv(TensorForm x, int64_t outputs, const Window& window, const Forms& forms) {
  return with(testing::conv2d_workload(x, s8, outputs, 1, window), forms);
}

TensorForm slice(TensorForm form, int64_t pixel_stride, int64_t channel_offset) {
  form.pixel_stride = pixel_stride;
  form.channel_offset = channel_offset;
  return form;
}

std::vector<Workload> few_row_products() {
  using testing::square_window;
  std::vector<Workload> list = {
      dense(1, 17, 1, {s8, s8, s8, zero, zero, false}),
      dense(1, 2048, 1000, {u8, s8, u8, scalar, zero}),
      dense(3, 33, 10, {u8, u8, s8, scalar, scalar, false, rounded}),
      dense(8, 512, 33, {s8, u8, u8, zero, per_channel, true, none, true}),
      dense(16, 2048, 10, {u8, s8, s8, scalar, per_channel, true, unrounded}),
      dense(17, 33, 33, {s8, s8, u8, zero, scalar, false, rounded, true}),
      dense(64, 512, 10, {u8, u8, u8, scalar, per_channel}),
      dense(5, 100, 36, {u8, s8, s32, scalar, scalar}),
      conv(nhwc_form(s8, 1, 4, 4, 64), 48, square_window(1, 1, 0), {s8, s8, s8, zero, zero, true, rounded}),
      conv(nhwc_form(s8, 1, 7, 7, 96), 20, square_window(1, 2, 0), {u8, s8, u8, scalar, scalar, true, unrounded}),
      conv(nhwc_form(s8, 1, 5, 3, 33), 17, square_window(3, 2, 1), {u8, u8, s8, scalar, per_channel, false}),
      conv(nhwc_form(s8, 2, 3, 5, 3), 40, square_window(3, 1, 3, 3), {s8, u8, s8, scalar, scalar}),
      conv(nhwc_form(s8, 1, 1, 1, 16), 4, square_window(3, 1, 1), {u8, s8, u8, scalar, zero}),
      conv(nhwc_form(s8, 1, 3, 3, 24), 17, square_window(1, 1, 0), {s8, u8, s32, zero, per_channel, false}),
      conv(nhwc_form(s8, 1, 7, 7, 40), 24, square_window(7, 1, 0), {u8, s8, u8, scalar, zero}),
  };
  // Slices of wider pixels: lanes that belong to others are neither read nor written.
  Workload sliced = conv(slice(nhwc_form(s8, 1, 3, 5, 10), 32, 4), 14, square_window(3, 1, 1), {u8, s8, u8, scalar});
  sliced.output = slice(sliced.output, 48, 16);
  list.push_back(sliced);
  sliced = conv(slice(nhwc_form(s8, 1, 2, 4, 48), 80, 16), 20, square_window(1, 1, 0), {s8, s8, s8, zero, per_channel});
  sliced.output = slice(sliced.output, 32, 4);
  list.push_back(sliced);
  return list;
}

Compiler& compiler() {
  static const std::unique_ptr<Compiler> nvrtc = open_nvrtc();
  return *nvrtc;
}

void expect_exact(const KernelFamily& family, const Workload& workload, const Config& config, const Target& target) {
  const KernelSource kernel = family.emit(workload, config, target);
  const auto compiled = compiler().compile(kernel, target.arch());
  if (const Outcome* failure = std::get_if<Outcome>(&compiled)) FAIL() << failure->message << "\n" << failure->log;
  const auto& binary = std::get<CompiledKernel>(compiled);
  for (const char* forbidden : {"fma.", ".ftz", ".approx"}) {
    EXPECT_EQ(binary.ptx.find(forbidden), std::string::npos) << forbidden;
  }
  EXPECT_EQ(binary.static_smem_bytes + kernel.launch.dynamic_smem_bytes,
            family.resources(workload, config, target).smem_bytes);
  const Example example = make_example(workload, 1);
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : example.inputs) inputs.push_back(&input);
  const Tensor expected = run_reference(workload, example.values, inputs);
  std::vector<Tensor> packed(kernel.arguments.size());
  for (size_t i = 0; i < packed.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    if (argument.name.empty()) continue;
    packed[i] = family.pack(workload, config, argument.name, example.values);
  }
  const std::unique_ptr<Device> device = open_device("virtual:" + target.name);
  TrialBuffers buffers(*device, {workload, example, expected, kernel.arguments, packed});
  buffers.poison();
  const Outcome outcome = device->launch({device->load(binary), kernel.launch, buffers.arguments()});
  ASSERT_TRUE(outcome.ok()) << outcome.message << "\n" << outcome.log;
  const auto fault = buffers.fault("launch");
  EXPECT_FALSE(fault.has_value()) << fault->message;
}

class FewRows : public ::testing::TestWithParam<size_t> {};

TEST_P(FewRows, EqualTheReference) {
  const Workload workload = few_row_products().at(GetParam());
  std::mt19937_64 random(GetParam());
  const std::vector<std::string> cards = {"t4", "a100", "rtx3090", "rtx4090"};
  for (const KernelFamily* family : kFamilies) {
    const Target& target = target_preset(cards.at(GetParam() % cards.size()));
    ASSERT_EQ(family->why_unsupported(workload, target), std::nullopt) << family->name();
    for (const Config& config :
         {family->default_config(workload, target), family->space(workload, target).sample(random, 100000).value(),
          family->space(workload, target).sample(random, 100000).value()}) {
      SCOPED_TRACE(summary(config) + " of " + workload.summary() + " on " + target.name);
      expect_exact(*family, workload, config, target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FewRows, ::testing::Range(size_t{0}, few_row_products().size()));

TEST(FewRowFamilies, DefaultsCompileWithoutSpills) {
  for (const char* card : {"t4", "a100", "rtx4090", "h100"}) {
    const Target& target = target_preset(card);
    for (const int64_t rows : {1, 8, 16}) {
      const Workload workload = dense(rows, 2048, 1000, {u8, s8, u8, scalar, zero});
      for (const KernelFamily* family : kFamilies) {
        const Config config = family->default_config(workload, target);
        SCOPED_TRACE(summary(config) + " of " + workload.summary() + " on " + card);
        EXPECT_EQ(family->space(workload, target).why_illegal(config), std::nullopt);
        const auto compiled = compiler().compile(family->emit(workload, config, target), target.arch());
        if (const Outcome* failure = std::get_if<Outcome>(&compiled)) FAIL() << failure->log;
        EXPECT_EQ(std::get<CompiledKernel>(compiled).spill_store_bytes, 0);
      }
    }
  }
}

TEST(FewRowFamilies, SayWhatTheyDoNotTake) {
  const Target& target = target_preset("rtx4090");
  const Workload tall = dense(65, 64, 64, {});
  const Workload grouped = testing::conv2d_workload(nhwc_form(s8, 1, 4, 4, 32), s8, 32, 2, Window{});
  for (const KernelFamily* family : kFamilies) {
    EXPECT_NE(family->why_unsupported(tall, target).value_or("").find("65 rows"), std::string::npos);
    EXPECT_NE(family->why_unsupported(grouped, target).value_or("").find("group"), std::string::npos);
  }
}

TEST(FewRowFamilies, TwoConfigsNeverShareASource) {
  const Target& target = target_preset("rtx4090");
  const Workload workload = dense(8, 2048, 1000, {u8, s8, u8, scalar, zero});
  for (const KernelFamily* family : kFamilies) {
    const Space space = family->space(workload, target);
    std::mt19937_64 random(5);
    std::set<std::string> configs, sources;
    for (int draw = 0; draw < 1000; ++draw) {
      const Config config = space.sample(random, 100000).value();
      configs.insert(key(config));
      sources.insert(family->emit(workload, config, target).source);
    }
    EXPECT_EQ(configs.size(), sources.size()) << family->name();
    EXPECT_GE(sources.size(), 300u) << family->name();
  }
}

}  // namespace
}  // namespace warpwright
