// The copies that each thread of a CTA has begun with cp.async and not waited for, by groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace warpwright::virtual_gpu {

class CopyGroups {
 public:
  void start(size_t threads) { threads_.assign(threads, {}); }

  /// A copy of the group that is open.
  void add(size_t thread, uint32_t offset, uint32_t bytes) {
    threads_[thread].copies.push_back({offset, bytes, threads_[thread].groups});
  }
  void commit(size_t thread) { ++threads_[thread].groups; }
  /// Calls `finish(offset, bytes)` for the copies of all committed groups but the latest `pending`.
  template <typename F>
  void wait(size_t thread, uint64_t pending, F&& finish) {
    Thread& of = threads_[thread];
    size_t count = 0;
    while (count < of.copies.size() && of.copies[count].group + pending < of.groups) {
      finish(of.copies[count].offset, of.copies[count].bytes);
      ++count;
    }
    of.copies.erase(of.copies.begin(), of.copies.begin() + static_cast<ptrdiff_t>(count));
  }
  /// -1: none.
  int first_with_copies() const {
    for (size_t i = 0; i < threads_.size(); ++i) {
      if (!threads_[i].copies.empty()) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  struct Copy {
    uint32_t offset, bytes;
    uint64_t group;
  };
  struct Thread {
    std::vector<Copy> copies;  // oldest first
    uint64_t groups = 0;       // committed so far
  };

  std::vector<Thread> threads_;
};

}  // namespace warpwright::virtual_gpu
