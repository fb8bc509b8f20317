// Counting by the sanitizer's hooks, or a limit of the system.
#include "tests/fuzz/harness/memory_bound.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#ifdef __SANITIZE_ADDRESS__
// Of the sanitizer's runtime; Debian's compiler comes without the header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_allocation)(const volatile void*, size_t),
                                                         void (*on_release)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void*);
#endif

namespace warpwright::testing {

namespace {

std::atomic<int64_t> held{0}, peak{0}, limit{INT64_MAX};

#ifdef __SANITIZE_ADDRESS__
void count_allocation(const volatile void* pointer, size_t) {
  const auto bytes = static_cast<int64_t>(__sanitizer_get_allocated_size(pointer));
  const int64_t now = held += bytes;
  if (now > peak) peak = now;
  if (now <= limit) return;
  limit = INT64_MAX;
  std::fprintf(stderr, "memory bound: %lld bytes held after an allocation of %lld\n", static_cast<long long>(now),
               static_cast<long long>(bytes));
  std::abort();
}

void count_release(const volatile void* pointer) {
  if (pointer) held -= static_cast<int64_t>(__sanitizer_get_allocated_size(pointer));
}
#endif

}  // namespace

#ifdef __SANITIZE_ADDRESS__
void bound_memory(int64_t bytes) {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(count_allocation, count_release) != 0;
  if (!installed) std::abort();
  held = 0;
  limit = bytes;
}
#else
void bound_memory(int64_t bytes) {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto most = static_cast<rlim_t>(pages * 4096 + bytes);
  const rlimit bound{most, most};
  if (setrlimit(RLIMIT_AS, &bound) != 0) std::abort();
}
#endif

int64_t take_peak_bytes() {
  const int64_t taken = peak.exchange(held);
  return taken > 0 ? taken : 0;
}

}  // namespace warpwright::testing

#ifdef __SANITIZE_ADDRESS__
/// One allocation beyond this ends the process with a report. Short stacks and a small quarantine: inputs are small,
/// and most of the time goes there.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=0:max_allocation_size_mb=512:detect_leaks=0:"
         "detect_stack_use_after_return=0:malloc_context_size=4:quarantine_size_mb=32";
}
#endif
