// Allocations of the virtual GPU.
#include "src/device/virtual/global_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "src/device/device.h"

namespace warpwright::virtual_gpu {

GlobalMemory::~GlobalMemory() {
  for (const Allocation& slot : slots_) std::free(slot.host);
}

uint64_t GlobalMemory::allocate(uint64_t bytes, std::string_view label, bool is_constant) {
  const auto fail = [&] {
    throw OutOfDeviceMemory(fmt::format("virtual device: no memory for {} bytes of '{}'", bytes, label));
  };
  if (bytes >= (uint64_t{1} << kSlotBits) - 2 * kSlotStart) fail();
  const size_t index = slots_.size();  // slots are not used again, so that a use of freed memory is always found
  slots_.emplace_back();
  Allocation made;
  made.base = (static_cast<uint64_t>(index) << kSlotBits) + kSlotStart;
  made.bytes = bytes;
  made.is_constant = is_constant;
  made.label = label;
  made.is_tracked = is_checked_;
  try {
    if (is_checked_) {
      made.valid.resize((bytes + 63) / 64);
      if (!is_constant) made.marks.resize((bytes + 63) / 64);
    }
    made.host = static_cast<std::byte*>(std::calloc(bytes + 64, 1));
  } catch (const std::bad_alloc&) {
    fail();
  }
  if (made.host == nullptr) fail();
  slots_[index] = std::move(made);
  return slots_[index].base;
}

void GlobalMemory::free(uint64_t address) {
  Allocation* found = allocation_at(address);
  if (found == nullptr || found->base != address) {
    throw UsageError(fmt::format("virtual device: free of {:#x}, which is no allocation", address));
  }
  std::free(found->host);
  std::string label = std::move(found->label);
  *found = Allocation{};
  found->label = std::move(label);
}

std::byte* GlobalMemory::range(uint64_t address, uint64_t bytes, const char* verb) {
  Allocation* found = allocation_at(address);
  const uint64_t offset = found == nullptr ? 0 : address - found->base;
  if (found == nullptr || offset > found->bytes || found->bytes - offset < bytes) {
    throw UsageError(fmt::format("virtual device: {} of {} bytes at {}", verb, bytes, describe(address)));
  }
  return found->host + offset;
}

void GlobalMemory::set_valid(uint64_t address, uint64_t bytes, bool valid) {
  range(address, bytes, "a mark");
  Allocation& found = *allocation_at(address);
  if (!found.is_tracked) return;
  uint64_t offset = address - found.base;
  while (bytes > 0) {
    const uint64_t bit = offset % 64, count = std::min<uint64_t>(64 - bit, bytes);
    const uint64_t mask = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << bit;
    uint64_t& word = found.valid[offset / 64];
    word = valid ? word | mask : word & ~mask;
    offset += count;
    bytes -= count;
  }
}

std::string GlobalMemory::describe(uint64_t address) const {
  const uint64_t slot = address >> kSlotBits;
  if (slot >= slots_.size() || slot == 0) return fmt::format("address {:#x}, in no buffer", address);
  const Allocation& found = slots_[slot];
  if (found.host == nullptr) return fmt::format("address {:#x}, in the freed buffer '{}'", address, found.label);
  const auto offset = static_cast<int64_t>(address - found.base);
  return fmt::format("buffer '{}' offset {} of {} bytes", found.label, offset, found.bytes);
}

}  // namespace warpwright::virtual_gpu
