// The cuda device over a stand-in for the driver: limits, memory, modules, faults, times and graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>

#include "src/core/error.h"
#include "src/device/cuda/cuda_device.h"
#include "src/device/cuda/driver.h"
#include "src/device/cuda/stopwatch.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A setting of the stand-in, for one test.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

const CudaDriver& fake_driver() {
  static const CudaDriver driver = load_cuda_driver(WARPWRIGHT_FAKE_DRIVER);
  return driver;
}

template <typename ErrorType, typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "no such error";
}

CompiledKernel kernel_named(const std::string& entry, const std::string& arch = "sm_89") {
  CompiledKernel kernel;
  kernel.entry = entry;
  kernel.arch = arch;
  kernel.cubin = "fake cubin";
  kernel.ptx = ".target " + arch;
  return kernel;
}

struct Bench {
  std::unique_ptr<Device> device = open_cuda_device(fake_driver(), "0");
  DeviceAddress numbers = device->allocate(64, "numbers");

  Bench() { device->upload(numbers, std::vector<std::byte>(64)); }
  Launch launch(const std::string& entry, int32_t value = 1) {
    Launch launch;
    launch.kernel = device->load(kernel_named(entry));
    launch.shape.block = {32, 1, 1};
    launch.arguments = {bind_address(numbers), bind_scalar(scalar_s32(16)), bind_scalar(scalar_s32(value))};
    return launch;
  }
  int32_t number() {
    int32_t value = 0;
    std::vector<std::byte> bytes(64);
    device->download(bytes, numbers);
    std::memcpy(&value, bytes.data() + 60, 4);
    return value;
  }
};

TEST(CudaDevice, TargetIsThePresetWithTheDriversLimits) {
  const Target target = cuda_target(fake_driver(), "0");
  EXPECT_EQ(target.name, "rtx4090");
  EXPECT_EQ(target.sm_count, 64) << "the driver's limit wins over the preset's";
  EXPECT_EQ(target.memory_gb_per_s, target_preset("rtx4090").memory_gb_per_s);
}

TEST(CudaDevice, UnknownCardHasTheDriversLimits) {
  const Target target = cuda_target(fake_driver(), "1");
  EXPECT_EQ(target.name, "second_card");
  EXPECT_EQ(target.arch(), "sm_89");
  EXPECT_EQ(target.max_warps_per_sm, 48);
  EXPECT_DOUBLE_EQ(target.sm_clock_mhz, 2520);
  EXPECT_NEAR(target.memory_gb_per_s, 1008, 1);
  EXPECT_EQ(target_from_json(to_json(target)), target);
}

TEST(CudaDevice, CardsAreFoundByNumberAndUuid) {
  const std::string uuid = "GPU-2b2b2b2b-2b2b-2b2b-2b2b-2b2b2b2b2b2b";
  EXPECT_EQ(cuda_target(fake_driver(), uuid).name, "second_card");
  for (const char* selector : {"2", "-1", "", "0x", "GPU-0"}) {
    EXPECT_THAT(error_of<UsageError>([&] { open_cuda_device(fake_driver(), selector); }),
                AllOf(HasSubstr("cuda:0"), HasSubstr(uuid), HasSubstr("Second Card")));
  }
  const std::vector<DeviceListing> listings = list_cuda_devices(fake_driver());
  ASSERT_EQ(listings.size(), 2u);
  EXPECT_EQ(listings[1].name, "cuda:1");
  EXPECT_THAT(listings[0].description, AllOf(HasSubstr("RTX 4090"), HasSubstr("GPU-1a1a"), HasSubstr("CUDA 13.0")));
}

TEST(CudaDevice, LackingDriverOrCardSaysWhatToDo) {
  EXPECT_THAT(error_of<EnvironmentError>([] { load_cuda_driver("/nowhere/libcuda.so.1"); }),
              AllOf(HasSubstr("/nowhere/libcuda.so.1"), HasSubstr("580"), HasSubstr("virtual:rtx4090")));
  EXPECT_THAT(error_of<EnvironmentError>([] { load_cuda_driver("libm.so.6"); }), HasSubstr("cuInit"));
  {
    const Setting old("FAKE_CUDA_VERSION", "11040");
    EXPECT_THAT(error_of<EnvironmentError>([] { load_cuda_driver(WARPWRIGHT_FAKE_DRIVER); }), HasSubstr("CUDA 11.4"));
  }
  {
    const Setting broken("FAKE_CUDA_CARDS", "-1");
    EXPECT_THAT(error_of<EnvironmentError>([] { load_cuda_driver(WARPWRIGHT_FAKE_DRIVER); }),
                HasSubstr("CUDA_ERROR_NO_DEVICE"));
  }
  const Setting none("FAKE_CUDA_CARDS", "0");
  EXPECT_THAT(error_of<EnvironmentError>([] { open_cuda_device(fake_driver(), "0"); }), HasSubstr("no card"));
}

TEST(CudaDevice, AMissingDriverIsMendedWhereItIsMissing) {
  const std::string machine = driver_cure(Surroundings::machine), wsl = driver_cure(Surroundings::wsl);
  const std::string container = driver_cure(Surroundings::container);
  EXPECT_THAT(container, AllOf(HasSubstr("docker run --gpus all"), HasSubstr("nvidia.com/gpu=all"),
                               HasSubstr("NVIDIA_DRIVER_CAPABILITIES=compute,utility")));
  EXPECT_THAT(wsl, AllOf(HasSubstr("in Windows"), HasSubstr("/usr/lib/wsl/lib/libcuda.so.1")));
  for (const std::string& cure : {machine, wsl, container}) {
    EXPECT_THAT(cure, AllOf(HasSubstr("580"), HasSubstr("virtual:rtx4090")));
  }
  EXPECT_THAT(machine, HasSubstr("Install NVIDIA's driver"));
  // Places are tried in turn.
  const CudaDriver driver = load_cuda_driver(std::vector<std::string>{"/nowhere/libcuda.so.1", WARPWRIGHT_FAKE_DRIVER});
  EXPECT_EQ(driver.version, 13000);
  EXPECT_THAT(error_of<EnvironmentError>([] {
                load_cuda_driver(std::vector<std::string>{"/nowhere/a.so", "/nowhere/b.so"});
              }),
              AllOf(HasSubstr("/nowhere/a.so"), HasSubstr("/nowhere/b.so")));
}

TEST(CudaDevice, OldCardIsRefusedByName) {
  const Setting old("FAKE_CUDA_CAPABILITY", "61");
  EXPECT_THAT(error_of<EnvironmentError>([] { open_cuda_device(fake_driver(), "0"); }),
              AllOf(HasSubstr("sm_61"), HasSubstr("sm_75")));
}

TEST(CudaDevice, RunsAndTellsTheDriversVersion) {
  Bench bench;
  EXPECT_EQ(bench.device->driver_cuda_major(), 13);
  EXPECT_EQ(bench.device->evidence(), Evidence::silicon);
  const Outcome outcome = bench.device->launch(bench.launch("add", 5));
  EXPECT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(bench.number(), 5);
}

TEST(CudaDevice, FaultsAreOutcomesWithTheDriversName) {
  const std::vector<std::pair<std::string, OutcomeKind>> faults = {
      {"illegal_address", OutcomeKind::memory_fault}, {"misaligned", OutcomeKind::memory_fault},
      {"launch_timeout", OutcomeKind::run_timeout},   {"assertion", OutcomeKind::crashed},
      {"illegal_instruction", OutcomeKind::crashed},  {"ecc", OutcomeKind::device_lost}};
  for (const auto& [entry, kind] : faults) {
    Bench bench;
    const Launch launch = bench.launch(entry);
    const Outcome outcome = bench.device->launch(launch);
    EXPECT_EQ(outcome.kind, kind) << entry;
    EXPECT_THAT(outcome.message, AllOf(HasSubstr(entry + ": CUDA_ERROR_"), HasSubstr("the driver's own sentence")));
    EXPECT_EQ(bench.device->launch(launch).kind, kind) << "the error sticks";
  }
}

TEST(CudaDevice, LaunchThatDoesNotFitIsALaunchErrorAndHarmsNothing) {
  Bench bench;
  Launch launch = bench.launch("add");
  launch.shape.block = {2048, 1, 1};
  EXPECT_EQ(bench.device->launch(launch).kind, OutcomeKind::launch_error);
  launch.shape.block = {32, 1, 1};
  launch.shape.dynamic_smem_bytes = 1 << 20;
  EXPECT_EQ(bench.device->launch(launch).kind, OutcomeKind::launch_error);
  launch.shape.dynamic_smem_bytes = 99 * 1024;  // beyond 48 KB a kernel opts in
  EXPECT_TRUE(bench.device->launch(launch).ok());
}

TEST(CudaDevice, FullCardIsOutOfDeviceMemory) {
  Bench bench;
  EXPECT_THAT(error_of<OutOfDeviceMemory>([&] { bench.device->allocate(int64_t{1} << 40, "weights"); }),
              AllOf(HasSubstr("weights"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  EXPECT_NO_THROW(bench.device->free(bench.device->allocate(0, "nothing")));
}

TEST(CudaDevice, CopiesOutsideAnAllocationAreRefused) {
  Bench bench;
  std::vector<std::byte> bytes(64);
  EXPECT_NO_THROW(bench.device->download(std::span(bytes).first(60), bench.numbers + 4));
  EXPECT_THROW(bench.device->download(bytes, bench.numbers + 4), InternalError);
  EXPECT_THROW(bench.device->upload(bench.numbers - 1, bytes), InternalError);
  EXPECT_THROW(bench.device->free(bench.numbers + 4), InternalError);
}

TEST(CudaDevice, TakesTheCubinElseThePtxElseRefuses) {
  Bench bench;
  CompiledKernel kernel = kernel_named("add", "sm_86");
  kernel.ptx = "";
  EXPECT_NO_THROW(bench.device->load(kernel)) << "a lower minor version's cubin runs";
  kernel = kernel_named("add", "sm_75");
  kernel.cubin = "";
  EXPECT_NO_THROW(bench.device->load(kernel)) << "the driver compiles older PTX";
  EXPECT_THAT(error_of<UnloadableKernel>([&] { bench.device->load(kernel_named("add", "sm_90")); }),
              AllOf(HasSubstr("sm_90"), HasSubstr("sm_89")));
  kernel.ptx = "garbage";
  EXPECT_THAT(error_of<UnloadableKernel>([&] { bench.device->load(kernel); }),
              AllOf(HasSubstr("CUDA_ERROR_INVALID_IMAGE"), HasSubstr("ptxas of the driver: no")));
  EXPECT_THAT(error_of<UnloadableKernel>([&] { bench.device->load(kernel_named("missing")); }), HasSubstr("missing"));
}

TEST(CudaDevice, TimesColdAndWarm) {
  Bench bench;
  const Launch launch = bench.launch("add");
  TimingOptions options;
  const Outcome cold = bench.device->time(launch, options);
  ASSERT_TRUE(cold.ok()) << cold.message;
  EXPECT_EQ(cold.samples_us.size(), static_cast<size_t>(options.least_samples)) << "equal samples settle at once";
  EXPECT_NEAR(cold.median_us(), 8.0, 0.01) << "kernel, gap and misses, without the flush";
  EXPECT_EQ(bench.number(), options.warm_up + options.least_samples);
  options.cold_l2 = false;
  EXPECT_NEAR(bench.device->time(launch, options).median_us(), 6.0, 0.01);
}

TEST(CudaDevice, TimesAGraphOfManyLaunches) {
  Bench bench;
  const std::vector<Launch> launches = {bench.launch("add", 1), bench.launch("add", 10), bench.launch("add", 100)};
  TimingOptions options;
  options.warm_up = 1;
  options.least_samples = options.most_samples = 4;
  const Outcome outcome = bench.device->time_sequence(launches, options);
  ASSERT_TRUE(outcome.ok()) << outcome.message;
  EXPECT_EQ(outcome.samples_us.size(), 4u);
  EXPECT_NEAR(outcome.median_us(), 3 * 6.0 + 2.0, 0.01);
  EXPECT_EQ(bench.number(), 5 * 111) << "each replay runs every launch; capturing runs none";
}

TEST(CudaDevice, FaultInAGraphIsAnOutcome) {
  Bench bench;
  const std::vector<Launch> launches = {bench.launch("add"), bench.launch("misaligned")};
  const Outcome outcome = bench.device->time_sequence(launches, {});
  EXPECT_EQ(outcome.kind, OutcomeKind::memory_fault);
  EXPECT_THAT(outcome.message, HasSubstr("a graph of 2 kernels: CUDA_ERROR_MISALIGNED_ADDRESS"));
}

TEST(Stopwatch, SettlesWhenTheMedianDoes) {
  EXPECT_FALSE(is_settled({10}));
  EXPECT_TRUE(is_settled({10, 10, 10, 10, 10}));
  EXPECT_FALSE(is_settled({10, 12, 8, 11, 9}));
  EXPECT_TRUE(is_settled({10, 10, 10, 10, 50})) << "one stray sample does not matter to a median";
}

}  // namespace
}  // namespace warpwright
