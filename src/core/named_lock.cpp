// flock on a file that its holder removes.
#include "src/core/named_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>  // P_tmpdir
#include <cstring>

#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr mode_t kForEveryUser = 0666;

/// A sticky folder refuses O_CREAT on another user's file, so an existing one is opened without it. Links are not
/// followed: whoever may write to the folder could point one at a file of ours.
int open_or_make(const char* path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int file = ::open(path, kFlags);
  if (file >= 0 || errno != ENOENT) return file;
  file = ::open(path, kFlags | O_CREAT, kForEveryUser);
  if (file >= 0) ::fchmod(file, kForEveryUser);  // past the umask; fails for another user's, who did so himself
  return file;
}

/// Whether `path` still names the open file: its last holder may have removed it in between.
bool is_named(int file, const char* path) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && ::lstat(path, &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

NamedLock::NamedLock(std::string_view name) {
  std::string safe;
  for (const char letter : name) safe += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  path_ = fmt::format("{}/warpwright-{}.lock", P_tmpdir, safe);
}

bool NamedLock::try_lock() {
  while (file_ < 0) {
    const int file = open_or_make(path_.c_str());
    if (file < 0) {
      throw EnvironmentError(fmt::format("cannot lock '{}': {}", path_.string(), std::strerror(errno)));
    }
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      ::close(file);
      return false;
    }
    if (is_named(file, path_.c_str())) {
      file_ = file;
      return true;
    }
    ::close(file);
  }
  return false;
}

void NamedLock::unlock() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());  // while it is held: whoever waits on this file finds that it has no name any more
  ::close(file_);
  file_ = -1;
}

}  // namespace warpwright
