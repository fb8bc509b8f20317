// What the driver tells about its cards.
#include "src/device/cuda/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "src/core/error.h"
#include "src/core/log.h"
#include "src/device/cuda/cuda_device.h"

namespace warpwright {
namespace {

constexpr int kLeastCapability = 75;

int card_count(const CudaDriver& driver) {
  int count = 0;
  require(driver, driver.device_count(&count), "counting the cards");
  if (count == 0) {
    throw EnvironmentError(
        "the CUDA driver sees no card (is CUDA_VISIBLE_DEVICES set?). A GPU in software: --device virtual:rtx4090.");
  }
  return count;
}

CUdevice card_number(const CudaDriver& driver, int number) {
  CUdevice card = 0;
  require(driver, driver.device_get(&card, number), fmt::format("opening card {}", number));
  return card;
}

std::string card_name(const CudaDriver& driver, CUdevice card) {
  char text[256] = {};
  require(driver, driver.device_name(text, sizeof(text) - 1, card), "asking for the card's name");
  return text;
}

int attribute(const CudaDriver& driver, CUdevice card, CUdevice_attribute which) {
  int value = 0;
  require(driver, driver.device_attribute(&value, which, card), "asking for a limit of the card");
  return value;
}

/// `NVIDIA GeForce RTX 4090` becomes `nvidia_geforce_rtx_4090`: the name of a Target without a preset.
std::string plain_name(const std::string& device_name) {
  std::string plain;
  for (const char c : device_name) {
    const bool keeps = std::isalnum(static_cast<unsigned char>(c)) != 0;
    plain += keeps ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  }
  return plain;
}

/// The preset of a card, or one with nothing but the name.
Target start_target(const std::string& device_name, int major, int minor, bool& is_known) {
  for (const Target& preset : target_presets()) {
    is_known = preset.device_name == device_name && preset.compute_major == major && preset.compute_minor == minor;
    if (is_known) return preset;
  }
  Target target;
  target.name = plain_name(device_name);
  target.device_name = device_name;
  target.compute_major = major;
  target.compute_minor = minor;
  target.timing = default_timing(major * 10 + minor);
  return target;
}

}  // namespace

void require(const CudaDriver& driver, CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  throw EnvironmentError(fmt::format("{}: the CUDA driver says {}", what, driver.describe(result)));
}

std::string card_uuid(const CudaDriver& driver, CUdevice card) {
  CUuuid uuid{};
  require(driver, driver.device_uuid(&uuid, card), "asking for the card's UUID");
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

CUdevice find_card(const CudaDriver& driver, std::string_view selector) {
  const int count = card_count(driver);
  int number = -1;
  const auto [end, error] = std::from_chars(selector.data(), selector.data() + selector.size(), number);
  if (error == std::errc() && end == selector.data() + selector.size() && number >= 0 && number < count) {
    return card_number(driver, number);
  }
  std::string cards;
  for (int i = 0; i < count; ++i) {
    const CUdevice card = card_number(driver, i);
    const std::string uuid = card_uuid(driver, card);
    if (uuid == selector) return card;
    cards += fmt::format("\n  cuda:{}  {}  {}", i, uuid, card_name(driver, card));
  }
  throw UsageError(fmt::format("there is no card cuda:{}; the driver has:{}", selector, cards));
}

Target card_target(const CudaDriver& driver, CUdevice card, bool* is_known) {
  const auto limit = [&](CUdevice_attribute which) { return attribute(driver, card, which); };
  const std::string device_name = card_name(driver, card);
  const int major = limit(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = limit(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (major * 10 + minor < kLeastCapability) {
    throw EnvironmentError(
        fmt::format("{} is of sm_{}{}; sm_{} or later is needed", device_name, major, minor, kLeastCapability));
  }
  bool known = false;
  Target target = start_target(device_name, major, minor, known);
  if (is_known != nullptr) *is_known = known;
  target.sm_count = limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  target.smem_per_block_bytes = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  target.smem_per_sm_bytes = limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  target.registers_per_sm = limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  target.max_threads_per_block = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  target.max_warps_per_sm = limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32;
  target.max_ctas_per_sm = limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  target.l2_bytes = limit(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  target.memory_bus_bits = limit(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  if (!known) {  // a preset's are measured or documented; the driver's are nominal
    const double memory_khz = limit(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    target.sm_clock_mhz = limit(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e3;
    target.memory_gb_per_s = 2 * memory_khz * 1e3 * target.memory_bus_bits / 8 / 1e9;  // two transfers a clock
  }
  return target;
}

Target cuda_target(const CudaDriver& driver, std::string_view selector) {
  return card_target(driver, find_card(driver, selector));
}

std::vector<DeviceListing> list_cuda_devices(const CudaDriver& driver) {
  std::vector<DeviceListing> listings;
  const int count = card_count(driver);
  for (int i = 0; i < count; ++i) {
    const CUdevice card = card_number(driver, i);
    DeviceListing listing;
    listing.name = fmt::format("cuda:{}", i);
    try {
      listing.target = card_target(driver, card);
    } catch (const EnvironmentError& error) {  // too old: named, and no reason to hide the others
      log_warning("cuda:{}: {}", i, error.what());
      continue;
    }
    listing.description =
        fmt::format("{}, {}, driver of {}", listing.target.device_name, card_uuid(driver, card), driver.version_text());
    listings.push_back(std::move(listing));
  }
  return listings;
}

}  // namespace warpwright
