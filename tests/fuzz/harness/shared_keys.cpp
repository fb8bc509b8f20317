// A table with open addressing.
#include "tests/fuzz/harness/shared_keys.h"

#include <sys/mman.h>

#include <functional>
#include <new>

#include "src/core/error.h"

namespace warpwright::testing {

namespace {

constexpr size_t kSlots = size_t{1} << 22;
constexpr size_t kMostProbes = 64;

}  // namespace

SharedKeys::SharedKeys() {
  void* memory = mmap(nullptr, kSlots * sizeof *slots_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw EnvironmentError("no shared memory");
  slots_ = static_cast<std::atomic<uint64_t>*>(memory);  // zeros are atomics of zero
}

SharedKeys::~SharedKeys() { munmap(slots_, kSlots * sizeof *slots_); }

bool SharedKeys::insert(std::string_view key) {
  const uint64_t hash = std::hash<std::string_view>()(key) | 1;
  for (size_t probe = 0; probe < kMostProbes; ++probe) {
    std::atomic<uint64_t>& slot = slots_[(hash / 2 + probe) % kSlots];
    uint64_t found = 0;
    if (slot.compare_exchange_strong(found, hash)) return true;
    if (found == hash) return false;
  }
  return true;  // too full to remember it
}

}  // namespace warpwright::testing
