// Database files that this process has open, and reading their first bytes without harm to SQLite's locks.
#pragma once

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <utility>

namespace warpwright {

/// Says that a connection has the file open. Made before SQLite locks anything in it, destroyed after the connection.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

 private:
  std::pair<dev_t, ino_t> file_{};
};

/// The first bytes of a file, 0 behind its end. Whoever closes a descriptor of a file takes all POSIX locks that his
/// process has on it (fcntl(2)), those of SQLite too: the descriptor of one that is open stays until its last
/// connection is closed. Throws EnvironmentError that names a file which cannot be read.
std::array<char, 100> read_start(const std::filesystem::path& path);

}  // namespace warpwright
