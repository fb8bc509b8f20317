// Global memory of the virtual GPU: labelled allocations in a sparse 64-bit address space, each in a slot of its own,
// so that what lies beside an allocation is always a guard zone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright::virtual_gpu {

inline constexpr int kSlotBits = 36;
inline constexpr uint64_t kSlotStart = uint64_t{1} << 20;  // of the allocation in its slot: a guard zone before it

/// What the checks know of 64 bytes of global memory.
struct LineMarks {
  uint64_t launch = 0;                         // number of the launch that the rest belongs to
  uint64_t read = 0, written = 0, atomic = 0;  // a bit a byte
  uint64_t reader = 0, writer = 0;             // linear numbers of the first CTA that did
};

struct Allocation {
  uint64_t base = 0, bytes = 0;
  std::byte* host = nullptr;  // null: the slot is free
  bool is_constant = false;
  bool is_tracked = false;  // `valid` and `marks` are kept
  std::string label;
  std::vector<uint64_t> valid;   // a bit a byte: written since begin_life
  std::vector<LineMarks> marks;  // of the writable ones
};

class GlobalMemory {
 public:
  explicit GlobalMemory(bool is_checked) : is_checked_(is_checked), slots_(1) {}
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  /// Throws OutOfDeviceMemory when the host has no memory left.
  uint64_t allocate(uint64_t bytes, std::string_view label, bool is_constant);
  void free(uint64_t address);  // throws UsageError unless `address` is what allocate gave
  /// The host's bytes behind the range; throws UsageError when it is not inside one allocation.
  std::byte* range(uint64_t address, uint64_t bytes, const char* verb);
  void set_valid(uint64_t address, uint64_t bytes, bool valid);

  /// Null when the address is in no allocation's slot.
  Allocation* allocation_at(uint64_t address) {
    const uint64_t slot = address >> kSlotBits;
    return slot < slots_.size() && slots_[slot].host != nullptr ? &slots_[slot] : nullptr;
  }
  /// Null unless all bytes are inside an allocation.
  std::byte* at(uint64_t address, uint32_t bytes) {
    const uint64_t slot = address >> kSlotBits;
    if (slot >= slots_.size()) return nullptr;
    const Allocation& found = slots_[slot];
    const uint64_t offset = address - found.base;
    return offset <= found.bytes && found.bytes - offset >= bytes ? found.host + offset : nullptr;
  }
  /// ``'label' + offset`` for messages; also for addresses outside.
  std::string describe(uint64_t address) const;

 private:
  bool is_checked_;
  std::vector<Allocation> slots_;  // by address >> kSlotBits; 0 is never used
};

}  // namespace warpwright::virtual_gpu
