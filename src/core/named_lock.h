// NamedLock: one process of this machine at a time, given back by the kernel when its holder dies.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace warpwright {

/// A lock on a file `warpwright-NAME.lock` in /tmp, whatever $TMPDIR says, so that all users of the machine meet there;
/// the file goes when the lock is given back. Containers with a /tmp of their own do not see each other's locks.
class NamedLock {
 public:
  /// `name` may hold any characters; those unsafe in a file name count as `_`. Not locked yet.
  explicit NamedLock(std::string_view name);
  ~NamedLock() { unlock(); }
  NamedLock(const NamedLock&) = delete;
  NamedLock& operator=(const NamedLock&) = delete;

  /// False when another holder has it, in this process or another. Throws EnvironmentError when no file can be made.
  bool try_lock();
  void unlock();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace warpwright
