// parallel_for: a shared counter that threads draw their next index from.
#include "src/reference/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "src/core/core_count.h"

namespace warpwright {

void parallel_for(int64_t count, const std::function<void(int64_t)>& work) {
  const int64_t threads = std::min<int64_t>(count, core_count());
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr first_error;
  std::mutex error_mutex;
  auto loop = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(error_mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int64_t t = 1; t < threads; ++t) others.emplace_back(loop);
    loop();
  }
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace warpwright
