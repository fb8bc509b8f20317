// Kernels of the light families: compiled by NVRTC, run on the virtual device in its checked mode, equal to the
// reference bit for bit. Lanes of an output slice that belong to others must stay as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <variant>

#include "measure/compiler.h"
#include "src/core/error.h"
#include "src/core/target.h"
#include "src/device/device.h"
#include "src/reference/reference.h"
#include "tests/search_space/light_families.h"
#include "tests/search_space/real_workloads.h"

namespace warpwright {
namespace {

Compiler& compiler() {
  static const std::unique_ptr<Compiler> nvrtc = open_nvrtc();
  return *nvrtc;
}

/// What the buffer must hold after the kernel, when before it held the complement of `expected`.
std::vector<std::byte> final_bytes(const TensorForm& form, const Tensor& expected) {
  std::vector<std::byte> bytes = expected.bytes;
  if (form.layout == Layout::nchw || owns_pad_lanes(form)) return bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int64_t lane = static_cast<int64_t>(i) % form.pixel_stride - form.channel_offset;
    if (lane < 0 || lane >= form.c) bytes[i] = ~bytes[i];
  }
  return bytes;
}

class Trial {
 public:
  Trial(const KernelFamily& family, const Workload& workload, const Config& config, uint64_t seed)
      : workload_(workload),
        example_(make_example(workload, seed)),
        device_(open_device("virtual:rtx4090")),
        kernel_(family.emit(workload, config, device_->target())),
        smem_bytes_(family.resources(workload, config, device_->target()).smem_bytes) {
    std::vector<const Tensor*> inputs;
    for (const Tensor& input : example_.inputs) inputs.push_back(&input);
    expected_ = run_reference(workload, example_.values, inputs);
    for (const KernelArgument& argument : kernel_.arguments) {
      launch_.arguments.push_back(bind(argument, family, config));
    }
  }

  void run() {
    const auto compiled = compiler().compile(kernel_, device_->target().arch());
    if (const Outcome* failure = std::get_if<Outcome>(&compiled)) {
      FAIL() << failure->message << "\n" << failure->log << kernel_.source;
    }
    const CompiledKernel& binary = std::get<CompiledKernel>(compiled);
    for (const char* forbidden : {"fma.", ".ftz", ".approx"}) {
      if (workload_.is_real() && forbidden == std::string_view("fma.")) continue;  // the law asks for them
      EXPECT_EQ(binary.ptx.find(forbidden), std::string::npos) << forbidden;
    }
    EXPECT_EQ(binary.spill_store_bytes, 0);
    EXPECT_EQ(binary.static_smem_bytes, smem_bytes_);
    launch_.kernel = device_->load(binary);
    launch_.shape = kernel_.launch;
    const Outcome outcome = device_->launch(launch_);
    ASSERT_TRUE(outcome.ok()) << outcome.message << "\n" << kernel_.source;
    Tensor got = expected_, wanted = expected_;
    device_->download(got.bytes, output_);
    wanted.bytes = final_bytes(workload_.output, expected_);
    int64_t at = 0;
    while (at < wanted.size() && equal_element(wanted, got, at)) ++at;
    EXPECT_EQ(at, wanted.size()) << kernel_.source;
  }

 private:
  BoundArgument bind(const KernelArgument& argument, const KernelFamily& family, const Config& config) {
    switch (argument.role) {
      case KernelArgument::Role::input:
        return bind_address(upload(example_.inputs.at(static_cast<size_t>(argument.index)).bytes, "input", true));
      case KernelArgument::Role::constant:
        return bind_address(
            upload(family.pack(workload_, config, argument.name, example_.values).bytes, argument.name, true));
      case KernelArgument::Role::scalar:
        return bind_scalar(family.pack(workload_, config, argument.name, example_.values));
      case KernelArgument::Role::workspace:
      case KernelArgument::Role::counters:
        throw InternalError("a light family with scratch memory");
      case KernelArgument::Role::output:
        break;
    }
    std::vector<std::byte> poison(expected_.bytes.size());
    std::ranges::transform(expected_.bytes, poison.begin(), [](std::byte byte) { return ~byte; });
    output_ = upload(poison, "output", false);
    return bind_address(output_);
  }

  DeviceAddress upload(const std::vector<std::byte>& bytes, std::string_view label, bool is_constant) {
    const DeviceAddress address = device_->allocate(static_cast<int64_t>(bytes.size()), label, is_constant);
    device_->upload(address, bytes);
    return address;
  }

  const Workload& workload_;
  const Example example_;
  const std::unique_ptr<Device> device_;
  const KernelSource kernel_;
  const int64_t smem_bytes_;
  Tensor expected_;
  DeviceAddress output_ = 0;
  Launch launch_;
};

/// The default and one random Config of every light Workload that the family takes.
class LightFamilies : public ::testing::TestWithParam<const KernelFamily*> {};

TEST_P(LightFamilies, EqualTheReference) {
  const KernelFamily& family = *GetParam();
  const Target& target = target_preset("rtx4090");
  std::mt19937_64 random(1);
  for (const Workload& workload : testing::all_light_workloads()) {
    if (family.why_unsupported(workload, target)) continue;
    for (const Config& config :
         {family.default_config(workload, target), family.space(workload, target).sample(random).value()}) {
      SCOPED_TRACE(summary(config) + " of " + to_json(workload).dump());
      Trial(family, workload, config, 1).run();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LightFamilies, ::testing::ValuesIn(testing::light_families()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace warpwright
