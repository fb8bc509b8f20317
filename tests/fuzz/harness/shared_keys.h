// SharedKeys: what has been seen, in memory that a process shares with its children.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace warpwright::testing {

class SharedKeys {
 public:
  SharedKeys();
  ~SharedKeys();
  SharedKeys(const SharedKeys&) = delete;
  SharedKeys& operator=(const SharedKeys&) = delete;

  /// False when this process or another has inserted it before. By a hash: one key in 2^40 is taken for another.
  bool insert(std::string_view key);

 private:
  std::atomic<uint64_t>* slots_ = nullptr;  // 0: free
};

}  // namespace warpwright::testing
