// Kernels of conv2d and dense, compiled by NVRTC and run on the virtual device in its checked mode: the same bits as
// the reference for the default and for random Configs. Lanes of an output slice that belong to others stay as they
// were.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <variant>

#include "cost_model/default_config.h"
#include "measure/compiler.h"
#include "search_space/kernel_family.h"
#include "src/device/device.h"
#include "src/reference/reference.h"
#include "tests/search_space/product_workloads.h"

namespace warpwright {
namespace {

Compiler& compiler() {
  static const std::unique_ptr<Compiler> nvrtc = open_nvrtc();
  return *nvrtc;
}

/// One Workload with its example and what must come of it.
class ExactProduct {
 public:
  explicit ExactProduct(const Workload& workload) : workload_(workload), example_(make_example(workload, 1)) {
    std::vector<const Tensor*> inputs;
    for (const Tensor& input : example_.inputs) inputs.push_back(&input);
    expected_ = run_reference(workload, example_.values, inputs);
    before_ = expected_.bytes;
    for (std::byte& byte : before_) byte = ~byte;
    const TensorForm& y = workload.output;
    if (owns_pad_lanes(y)) return;
    for (size_t i = 0; i < before_.size(); ++i) {
      const int64_t lane = static_cast<int64_t>(i) % y.pixel_stride - y.channel_offset;
      if (lane < 0 || lane >= y.c) expected_.bytes[i] = before_[i];
    }
  }

  void expect_exact(const KernelFamily& family, const Config& config, const Target& target) const {
    const KernelSource kernel = family.emit(workload_, config, target);
    const auto compiled = compiler().compile(kernel, target.arch());
    if (const Outcome* failure = std::get_if<Outcome>(&compiled)) FAIL() << failure->message << "\n" << failure->log;
    const CompiledKernel& binary = std::get<CompiledKernel>(compiled);
    for (const char* forbidden : {"fma.", ".ftz", ".approx"}) {
      EXPECT_EQ(binary.ptx.find(forbidden), std::string::npos) << forbidden;
    }
    EXPECT_EQ(binary.static_smem_bytes + kernel.launch.dynamic_smem_bytes,
              family.resources(workload_, config, target).smem_bytes);
    const std::unique_ptr<Device> device = open_device("virtual:" + target.name);
    Launch launch{device->load(binary), kernel.launch, {}};
    const std::vector<Tensor> packed = pack_arguments(workload_, config, kernel, example_.values);
    DeviceAddress output = 0;
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      launch.arguments.push_back(bind(*device, kernel.arguments[i], packed[i], output));
    }
    const Outcome outcome = device->launch(launch);
    ASSERT_TRUE(outcome.ok()) << outcome.message << "\n" << outcome.log;
    std::vector<std::byte> got(expected_.bytes.size());
    device->download(got, output);
    const auto [at, wanted] = std::ranges::mismatch(got, expected_.bytes);
    EXPECT_TRUE(at == got.end()) << "byte " << at - got.begin() << " of " << got.size();
  }

 private:
  BoundArgument bind(Device& device, const KernelArgument& argument, const Tensor& packed,
                     DeviceAddress& output) const {
    switch (argument.role) {
      case KernelArgument::Role::scalar:
        return bind_scalar(packed);
      case KernelArgument::Role::constant:
        return bind_address(upload(device, packed.bytes, argument.name, true));
      case KernelArgument::Role::input:
        return bind_address(
            upload(device, example_.inputs.at(static_cast<size_t>(argument.index)).bytes, "input", true));
      case KernelArgument::Role::workspace:
        return bind_address(device.allocate(argument.bytes, "workspace"));
      case KernelArgument::Role::counters:
        return bind_address(
            upload(device, std::vector<std::byte>(static_cast<size_t>(argument.bytes)), "counters", false));
      case KernelArgument::Role::output:
        break;
    }
    output = upload(device, before_, "output", false);
    return bind_address(output);
  }

  static DeviceAddress upload(Device& device, const std::vector<std::byte>& bytes, std::string_view label,
                              bool is_constant) {
    const DeviceAddress address = device.allocate(static_cast<int64_t>(bytes.size()), label, is_constant);
    device.upload(address, bytes);
    return address;
  }

  const Workload workload_;
  const Example example_;
  Tensor expected_;
  std::vector<std::byte> before_;
};

class Products : public ::testing::TestWithParam<size_t> {};

TEST_P(Products, EqualTheReference) {
  const Workload workload = testing::awkward_products().at(GetParam());
  const Target& target = target_preset("rtx4090");
  const ExactProduct product(workload);
  std::mt19937_64 random(GetParam());
  const std::vector<const KernelFamily*> families = families_for(workload, target);
  ASSERT_FALSE(families.empty());
  for (const KernelFamily* family : families) {
    for (const Config& config :
         {family->default_config(workload, target), family->space(workload, target).sample(random, 200000).value()}) {
      SCOPED_TRACE(summary(config) + " of " + workload.summary());
      product.expect_exact(*family, config, target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Products, ::testing::Range(size_t{0}, testing::awkward_products().size()));

TEST(ProductKernels, DefaultsOfEveryArchitectureCompileWithoutSpills) {
  const std::vector<Workload> typical = testing::typical_products();
  for (const char* card : {"t4", "a100", "h100"}) {
    const Target& target = target_preset(card);
    for (const size_t index : {1u, 5u, 11u, 14u}) {
      const Workload& workload = typical.at(index);
      SCOPED_TRACE(workload.summary() + " on " + target.name);
      const Config config = default_config(workload, target);
      const auto compiled = compiler().compile(family_of(config).emit(workload, config, target), target.arch());
      if (const Outcome* failure = std::get_if<Outcome>(&compiled)) FAIL() << failure->message << "\n" << failure->log;
      EXPECT_EQ(std::get<CompiledKernel>(compiled).spill_store_bytes, 0);
    }
  }
}

}  // namespace
}  // namespace warpwright
