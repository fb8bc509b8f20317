// Names of devices: found, refused, listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/device/cuda/driver.h"
#include "src/device/device.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DeviceList, VirtualTargetsByPresetAndFile) {
  EXPECT_EQ(target_of_device("virtual:rtx4090"), target_preset("rtx4090"));
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "mine.json";
  Target target = target_preset("a100");
  target.name = "mine";
  write_file(path, to_json(target).dump());
  EXPECT_EQ(target_of_device("virtual:" + path.string()), target);
  EXPECT_EQ(open_device("virtual:" + path.string())->target(), target);
  EXPECT_EQ(open_device("virtual:t4")->evidence(), Evidence::virtual_device);
}

TEST(DeviceList, BadNamesAreUsageErrorsThatHelp) {
  for (const char* name : {"", "rtx4090", "cpu", "cuda", "virtual"}) {
    try {
      open_device(name);
      ADD_FAILURE() << name;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("cuda:N"), HasSubstr("virtual:TARGET")));
    }
  }
  EXPECT_THROW(open_device("virtual:voodoo2"), UsageError);
  EXPECT_THROW(target_of_device("virtual:/nowhere.json"), UsageError);
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "bad.json").string();
  for (const char* text : {"", "{", "[]", "{\"name\": 3}"}) {
    std::ofstream(path, std::ios::trunc) << text;
    EXPECT_THROW(target_of_device("virtual:" + path), UsageError) << text;
  }
}

TEST(DeviceList, WithoutADriverCudaIsAnEnvironmentErrorWithTheCure) {
  if (has_cuda_driver()) GTEST_SKIP() << "this machine has a driver";
  for (const char* name : {"auto", "cuda:0", "cuda:GPU-1"}) {
    try {
      open_device(name);
      ADD_FAILURE() << name;
    } catch (const EnvironmentError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("580"), HasSubstr("--device virtual:rtx4090")));
    }
    EXPECT_THROW(target_of_device(name), EnvironmentError);
  }
}

TEST(DeviceList, HasEveryPreset) {
  size_t virtual_devices = 0;
  for (const DeviceListing& listing : list_devices()) {
    if (!listing.name.starts_with("virtual:")) continue;
    ++virtual_devices;
    EXPECT_EQ(target_of_device(listing.name), listing.target);
  }
  EXPECT_EQ(virtual_devices, target_presets().size());
}

TEST(Binding, AddressesAndScalars) {
  const BoundArgument address = bind_address(0x123456789abcdef0);
  uint64_t bits = 0;
  std::memcpy(&bits, address.bytes.data(), 8);
  EXPECT_EQ(bits, 0x123456789abcdef0u);
  EXPECT_EQ(address.size, 8u);
  const BoundArgument scalar = bind_scalar(scalar_f32(1.5f));
  float value = 0;
  std::memcpy(&value, scalar.bytes.data(), 4);
  EXPECT_EQ(value, 1.5f);
  EXPECT_EQ(scalar.size, 4u);
  EXPECT_THROW(bind_scalar(Tensor(DType::s8, {4})), InternalError);
  EXPECT_THROW(bind_scalar(Tensor(DType::f32, {0})), InternalError);
}

}  // namespace
}  // namespace warpwright
