// The cuda device on a real card, with kernels of NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "measure/compiler.h"
#include "src/core/error.h"
#include "src/device/cuda/driver.h"
#include "src/device/device.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kCount = 1 << 20;

class CudaCard : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_cuda_driver()) GTEST_SKIP() << "no CUDA driver in this machine";
    device_ = open_device("cuda:0");
    compiler_ = open_nvrtc();
    if (compiler_->cuda_major() > *device_->driver_cuda_major()) GTEST_SKIP() << "NVRTC is newer than the driver";
    numbers_ = device_->allocate(int64_t{kCount} * 4, "numbers");
    device_->upload(numbers_, std::vector<std::byte>(size_t{kCount} * 4));
  }

  CompiledKernel compile(const std::string& body) {
    KernelSource source;
    source.entry = "kernel";
    source.source = "extern \"C\" __global__ void kernel(int* numbers, int value) {\n" + body + "\n}";
    auto result = compiler_->compile(source, device_->target().arch());
    if (const Outcome* outcome = std::get_if<Outcome>(&result)) throw std::runtime_error(outcome->log);
    return std::get<CompiledKernel>(result);
  }
  Launch launch_of(const CompiledKernel& kernel, int32_t value = 1) {
    Launch launch;
    launch.kernel = device_->load(kernel);
    launch.shape.grid = {kCount / 256, 1, 1};
    launch.shape.block = {256, 1, 1};
    launch.arguments = {bind_address(numbers_), bind_scalar(scalar_s32(value))};
    return launch;
  }
  int32_t last_number() {
    std::vector<std::byte> bytes(size_t{kCount} * 4);
    device_->download(bytes, numbers_);
    int32_t value = 0;
    std::memcpy(&value, bytes.data() + bytes.size() - 4, 4);
    return value;
  }

  static constexpr const char* kAdd = "numbers[blockIdx.x * blockDim.x + threadIdx.x] += value;";
  std::unique_ptr<Device> device_;
  std::unique_ptr<Compiler> compiler_;
  DeviceAddress numbers_ = 0;
};

TEST_F(CudaCard, RunsCubinAndPtx) {
  CompiledKernel kernel = compile(kAdd);
  EXPECT_TRUE(device_->launch(launch_of(kernel, 5)).ok());
  EXPECT_EQ(last_number(), 5);
  kernel.cubin.clear();
  EXPECT_TRUE(device_->launch(launch_of(kernel, 2)).ok());
  EXPECT_EQ(last_number(), 7);
}

TEST_F(CudaCard, TimesALaunchAndAGraph) {
  const Launch launch = launch_of(compile(kAdd));
  const Outcome alone = device_->time(launch, {});
  ASSERT_TRUE(alone.ok()) << alone.message;
  EXPECT_GE(alone.samples_us.size(), 5u);
  EXPECT_GT(alone.median_us(), 0.5);
  EXPECT_LT(alone.median_us(), 10000);
  const std::vector<Launch> ten(10, launch);
  const Outcome graph = device_->time_sequence(ten, {});
  ASSERT_TRUE(graph.ok()) << graph.message;
  EXPECT_GT(graph.median_us(), alone.median_us());
  EXPECT_LT(graph.median_us(), alone.median_us() * 20);
}

TEST_F(CudaCard, OptsInToLargeSharedMemory) {
  Launch launch =
      launch_of(compile("extern __shared__ int tile[]; tile[threadIdx.x + 12000] = value; __syncthreads();"
                        "numbers[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x + 12000];"));
  launch.shape.dynamic_smem_bytes = 60 * 1024;
  EXPECT_TRUE(device_->launch(launch).ok());
  EXPECT_EQ(last_number(), 1);
  launch.shape.dynamic_smem_bytes = 1 << 20;
  EXPECT_EQ(device_->launch(launch).kind, OutcomeKind::launch_error);
}

TEST_F(CudaCard, WildWriteIsAMemoryFault) {
  const Outcome outcome = device_->launch(launch_of(compile("numbers[threadIdx.x + (1LL << 40)] = value;")));
  EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault);
  EXPECT_THAT(outcome.message, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

}  // namespace
}  // namespace warpwright
