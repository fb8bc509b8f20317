// Sessions on a fake device: binding, batches, lives of buffers, faults, and what is freed.
#include "src/runtime/session.h"

#include <gtest/gtest.h>

#include "tests/runtime/fake_device.h"

namespace warpwright {
namespace {

/// x [2,4] -> +1 -> [2,2,2] -> +1 -> y; both kernels share a constant.
Package two_steps() {
  Package package;
  package.target = target_preset("rtx4090");
  Program& program = package.program;
  program.arena_bytes = 768;
  const TensorForm flat = nchw_form(DType::u8, 2, 4, 1, 1), square = nchw_form(DType::u8, 2, 1, 2, 2);
  program.tensors = {{"x", flat, 0, -1, 0}, {"t", square, 256, 0, 1}, {"y", flat, 512, 1, 2}};
  program.inputs = {{"x", {2, 4}, DType::u8, 0}};
  program.outputs = {{"y", {2, 4}, DType::u8, 2}};
  PackageKernel kernel;
  kernel.code.entry = "add";
  kernel.code.arch = "sm_89";
  kernel.launch.grid = {8, 1, 1};
  using Role = KernelArgument::Role;
  kernel.arguments = {{Role::input, 0, "", DType::u8},
                      {Role::output, 0, "", DType::u8},
                      {Role::constant, 0, "one", DType::u8},
                      {Role::scalar, 0, "offset", DType::s32}};
  package.kernels = {kernel};
  Tensor one(DType::u8, {1});
  one.bytes[0] = std::byte{1};
  for (int step = 0; step < 2; ++step) {
    Workload workload;
    workload.kind = OpKind::layout;
    workload.inputs = {step == 0 ? flat : square};
    workload.output = step == 0 ? square : flat;
    program.steps.push_back({workload, {}, {step}, step + 1, {"node" + std::to_string(step)}});
    package.steps.push_back({0, {}, "default", std::nullopt, {{}, {}, one, scalar_s32(10 * step)}});
  }
  return package;
}

Tensor ramp(int64_t rows) {
  Tensor tensor(DType::u8, {rows, 4});
  uint8_t value = 0;
  for (uint8_t& element : tensor.as<uint8_t>()) element = value++;
  return tensor;
}

TEST(SessionTest, RunsStepsInOrder) {
  const Package package = two_steps();
  FakeDevice device;
  Session session(package, device);
  std::vector<size_t> seen;
  const TensorMap outputs = session.run({{"x", ramp(2)}}, [&](size_t step, const Tensor& buffer) {
    seen.push_back(step);
    EXPECT_EQ(buffer.as<uint8_t>()[0], step == 0 ? 1 : 12);
  });
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1}));
  const Tensor& y = outputs.at("y");
  EXPECT_EQ(y.shape, (Shape{2, 4}));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(y.as<uint8_t>()[i], i + 12u);
  EXPECT_EQ(device.constants, 1) << "equal constants are uploaded once";
}

TEST(SessionTest, SeveralBatchesAreRunOneBehindTheOther) {
  const Package package = two_steps();
  FakeDevice device;
  Session session(package, device);
  const Tensor y = session.run({{"x", ramp(6)}}).at("y");
  EXPECT_EQ(y.shape, (Shape{6, 4}));
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(y.as<uint8_t>()[i], i + 12u);
}

TEST(SessionTest, BuffersBeginTheirLivesBeforeTheyAreWritten) {
  const Package package = two_steps();
  FakeDevice device;
  Session session(package, device);
  session.run({{"x", ramp(2)}});
  ASSERT_EQ(device.lives.size(), 3u);  // the arena, then the output of each step
  EXPECT_EQ(device.lives[0].bytes, 768);
  EXPECT_EQ(device.lives[1].begin, device.lives[0].begin + 256);
  EXPECT_EQ(device.lives[2].begin, device.lives[0].begin + 512);
}

/// The kernel of two_steps, and one that needs less; the second step runs it.
Package two_splitting_steps() {
  Package package = two_steps();
  package.kernels.push_back(package.kernels[0]);
  package.steps[1].kernel = 1;
  using Role = KernelArgument::Role;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<KernelArgument>& arguments = package.kernels[i].arguments;
    arguments.push_back({Role::workspace, 0, "", DType::s32, i == 0 ? 4096 : 64});
    arguments.push_back({Role::counters, 0, "", DType::s32, i == 0 ? 4 : 128});
    package.steps[i].packed.resize(arguments.size());
  }
  return package;
}

TEST(SessionTest, KernelsShareScratchMemoryOfTheLargestSize) {
  const Package package = two_splitting_steps();
  FakeDevice device;
  Session session(package, device);
  EXPECT_EQ(device.live_allocations(), 4u);  // arena, workspace, counters, constant
  const Tensor y = session.run({{"x", ramp(4)}}).at("y");
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(y.as<uint8_t>()[i], i + 12u);
  int workspaces = 0;
  for (const FakeDevice::Life& life : device.lives) workspaces += life.bytes == 4096 ? 1 : 0;
  EXPECT_EQ(workspaces, 4) << "nothing of one launch serves the next";
}

TEST(SessionTest, CountersAreZeroAgainAfterAFault) {
  const Package package = two_splitting_steps();
  FakeDevice device;
  Session session(package, device);
  device.leaves_counters = true;
  EXPECT_THROW(session.run({{"x", ramp(2)}}), InternalError);
  device.leaves_counters = false;
  EXPECT_EQ(session.run({{"x", ramp(2)}}).at("y").as<uint8_t>()[0], 12);
}

TEST(SessionTest, ScratchMemoryOfNoSaneSizeIsRefused) {
  for (const int64_t bytes : {int64_t{0}, int64_t{-4}, kMostScratchBytes + 4}) {
    Package package = two_splitting_steps();
    package.kernels[0].arguments[4].bytes = bytes;
    FakeDevice device;
    EXPECT_THROW(Session(package, device), UsageError) << bytes;
  }
}

TEST(SessionTest, OneStepAloneTakesGivenInputs) {
  const Package package = two_steps();
  FakeDevice device;
  Session session(package, device);
  const Tensor input = ramp(2);
  const std::vector<const Tensor*> inputs{&input};
  EXPECT_EQ(session.run_step(1, inputs).as<uint8_t>()[3], 14);
  EXPECT_EQ(session.time({}).median_us(), 2.0);
  EXPECT_EQ(session.time_step(0, {}).median_us(), 1.0);
}

TEST(SessionTest, InputsThatDoNotFitAreNamed) {
  const Package package = two_steps();
  FakeDevice device;
  Session session(package, device);
  EXPECT_THROW(session.run({}), UsageError);
  EXPECT_THROW(session.run({{"x", ramp(3)}}), UsageError);
  EXPECT_THROW(session.run({{"x", Tensor(DType::u8, {0, 4})}}), UsageError);
  EXPECT_THROW(session.run({{"x", Tensor(DType::s8, {2, 4})}}), UsageError);
  EXPECT_THROW(session.run({{"x", ramp(2)}, {"z", ramp(2)}}), UsageError);
}

TEST(SessionTest, FaultsNameStepAndNodes) {
  const Package package = two_steps();
  FakeDevice device;
  Session session(package, device);
  device.fails_with = OutcomeKind::memory_fault;
  try {
    session.run({{"x", ramp(2)}});
    FAIL();
  } catch (const LaunchFault& fault) {
    EXPECT_NE(std::string(fault.what()).find("node0"), std::string::npos) << fault.what();
    EXPECT_NE(std::string(fault.what()).find("memory_fault"), std::string::npos) << fault.what();
  }
  device.fails_with = OutcomeKind::device_lost;
  EXPECT_THROW(session.run({{"x", ramp(2)}}), EnvironmentError);
}

TEST(SessionTest, EverythingIsFreed) {
  const Package package = two_steps();
  FakeDevice device;
  { Session session(package, device); }
  EXPECT_EQ(device.live_allocations(), 0u);
  device.allocations_left = 1;  // the arena, but no constant
  EXPECT_THROW(Session(package, device), EnvironmentError);
  EXPECT_EQ(device.live_allocations(), 0u);
}

TEST(SessionTest, PackageForANewerCardIsRefused) {
  Package package = two_steps();
  package.target = target_preset("h100");
  package.kernels[0].code.arch = "sm_90";
  FakeDevice device;
  EXPECT_THROW(Session(package, device), EnvironmentError);
}

TEST(SessionTest, BrokenPackageIsRefused) {
  Package package = two_steps();
  package.program.tensors[1].arena_offset = 768;
  FakeDevice device;
  EXPECT_THROW(Session(package, device), UsageError);
}

}  // namespace
}  // namespace warpwright
