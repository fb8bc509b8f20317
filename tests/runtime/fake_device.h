// A device in host memory whose kernels add what they are given: for tests of the session alone.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "src/core/error.h"
#include "src/device/device.h"

namespace warpwright {

/// Every kernel has the arguments input, output, constant u8[1], scalar s32, and writes input + constant + scalar, in
/// bytes. One with workspace and counters too goes the way of kernels that split their sums: it counts up what must be
/// zero, keeps the output in the workspace first, and sets the counters back.
class FakeDevice : public Device {
 public:
  struct Life {
    DeviceAddress begin;
    int64_t bytes;
  };

  const Target& target() const override { return target_preset("rtx4090"); }
  Evidence evidence() const override { return Evidence::virtual_device; }
  std::string description() const override { return "fake"; }

  DeviceAddress allocate(int64_t bytes, std::string_view, bool is_constant) override {
    if (allocations_left == 0) throw EnvironmentError("the card is full");
    --allocations_left;
    const DeviceAddress address = next_;
    next_ += (static_cast<DeviceAddress>(bytes) + 4095) / 4096 * 4096;
    memory_[address].resize(static_cast<size_t>(bytes));
    constants += is_constant;
    return address;
  }
  void free(DeviceAddress address) override {
    if (memory_.erase(address) != 1) throw InternalError("freed twice");
  }
  void upload(DeviceAddress to, std::span<const std::byte> bytes) override {
    std::memcpy(at(to, bytes.size()), bytes.data(), bytes.size());
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    std::memcpy(to.data(), at(from, to.size()), to.size());
  }
  void begin_life(DeviceAddress address, int64_t bytes) override {
    lives.push_back({address, bytes});
    std::memset(at(address, static_cast<size_t>(bytes)), 0xEE, static_cast<size_t>(bytes));
  }

  DeviceKernel load(const CompiledKernel&) override { return {kernels_++}; }
  Outcome launch(const Launch& launch) override {
    if (fails_with) return {*fails_with, "on purpose", "", {}, ""};
    const auto address = [&](size_t i) {
      DeviceAddress value = 0;
      std::memcpy(&value, launch.arguments[i].bytes.data(), 8);
      return value;
    };
    int32_t scalar = 0;
    std::memcpy(&scalar, launch.arguments[3].bytes.data(), 4);
    const int constant = std::to_integer<int>(*at(address(2), 1));
    const bool splits = launch.arguments.size() == 6;
    if (splits && *at(address(5), 1) != std::byte{0}) throw InternalError("a counter is not zero");
    for (size_t i = 0; i < launch.shape.grid[0]; ++i) {
      const int value = std::to_integer<int>(*at(address(0) + i, 1)) + constant + scalar;
      if (splits) *at(address(4) + i, 1) = *at(address(5), 1) = static_cast<std::byte>(value);
      *at(address(1) + i, 1) = splits ? *at(address(4) + i, 1) : static_cast<std::byte>(value);
    }
    if (splits && !leaves_counters) *at(address(5), 1) = std::byte{0};
    return {OutcomeKind::ok, "", "", {}, ""};
  }
  Outcome time(const Launch& launch, const TimingOptions&) override {
    Outcome outcome = this->launch(launch);
    outcome.samples_us = {1.0};
    return outcome;
  }
  Outcome time_sequence(std::span<const Launch> launches, const TimingOptions&) override {
    return {OutcomeKind::ok, "", "", {static_cast<double>(launches.size())}, ""};
  }

  size_t live_allocations() const { return memory_.size(); }

  std::vector<Life> lives;
  int constants = 0;
  int allocations_left = 1000;
  std::optional<OutcomeKind> fails_with;
  bool leaves_counters = false;

 private:
  std::byte* at(DeviceAddress address, size_t bytes) {
    auto found = memory_.upper_bound(address);
    if (found == memory_.begin()) throw InternalError("no memory there");
    --found;
    const size_t offset = address - found->first;
    if (offset + bytes > found->second.size()) throw InternalError("beyond an allocation");
    return found->second.data() + offset;
  }

  std::map<DeviceAddress, std::vector<std::byte>> memory_;
  DeviceAddress next_ = 4096;
  int kernels_ = 0;
};

}  // namespace warpwright
