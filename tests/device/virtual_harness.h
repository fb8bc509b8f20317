// What the tests of the virtual device share: kernels around a piece of PTX, buffers and launches.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/device/virtual/virtual_device.h"

namespace warpwright::testing {

/// A kernel `k` with three pointers a, b, o in %rd1..%rd3 (global addresses) and the thread number in %r0.
inline std::string kernel_of(const std::string& body, const std::string& variables = {}) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 po)
{
  .reg .pred %p<16>;
  .reg .b16 %h<16>;
  .reg .b32 %r<64>;
  .reg .f32 %f<16>;
  .reg .b64 %rd<64>;
)" + variables +
         R"(
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [po];
  mov.u32 %r0, %tid.x;
)" + body +
         "\n  ret;\n}\n";
}

class VirtualRun {
 public:
  explicit VirtualRun(bool checked = true, uint64_t limit = 100'000'000, uint64_t seed = 1, int jobs = 2) {
    DeviceOptions options;
    options.checked = checked;
    options.instruction_limit = limit;
    options.seed = seed;
    options.jobs = jobs;
    device = open_virtual_device(target_preset("rtx4090"), options);
  }

  template <typename T>
  DeviceAddress upload(const std::vector<T>& values, const std::string& label, bool is_constant = false) {
    const DeviceAddress at = device->allocate(static_cast<int64_t>(values.size() * sizeof(T)), label, is_constant);
    device->upload(at, std::as_bytes(std::span(values)));
    return at;
  }
  template <typename T>
  std::vector<T> download(DeviceAddress at, size_t count) {
    std::vector<T> values(count);
    device->download(std::as_writable_bytes(std::span(values)), at);
    return values;
  }

  Outcome run(const std::string& ptx, LaunchShape shape, const std::vector<DeviceAddress>& buffers) {
    CompiledKernel compiled;
    compiled.entry = "k";
    compiled.ptx = ptx;
    compiled.registers = 32;
    Launch launch;
    launch.kernel = device->load(compiled);
    launch.shape = shape;
    for (const DeviceAddress buffer : buffers) {
      BoundArgument argument;
      std::memcpy(argument.bytes.data(), &buffer, sizeof buffer);
      launch.arguments.push_back(argument);
    }
    return device->launch(launch);
  }

  std::unique_ptr<Device> device;
};

inline LaunchShape shape_of(uint32_t ctas, uint32_t threads) {
  LaunchShape shape;
  shape.grid[0] = ctas;
  shape.block[0] = threads;
  return shape;
}

/// Numbers with the extremes among them, the same in every run.
inline std::vector<uint32_t> hard_numbers(size_t count, uint32_t seed) {
  static const uint32_t kExtremes[] = {0,          1,          2,          31,         32,         33,
                                       127,        128,        255,        256,        0x7fff,     0x8000,
                                       0xffff,     0x10000,    0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
                                       0xfffffffe, 0x80ff7f01, 0xff00ff00};
  std::vector<uint32_t> out(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t i = 0; i < count; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const bool extreme = (state >> 60) < 6;
    out[i] = extreme ? kExtremes[(state >> 32) % std::size(kExtremes)] : static_cast<uint32_t>(state >> 16);
  }
  return out;
}

}  // namespace warpwright::testing
