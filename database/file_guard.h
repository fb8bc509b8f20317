// FileGuard: notices when the file that is written to is no longer the one at its path, or was cut.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "database/sqlite.h"

namespace warpwright {

class FileGuard {
 public:
  explicit FileGuard(const Connection& connection) : connection_(&connection), path_(connection.path()) {}

  /// Throws EnvironmentError, from the first time on, when the file was deleted, moved, replaced or cut. What can still
  /// be read of it is saved then in a file of its own, beside it or among temporary files, which the message names.
  void check();
  bool is_lost() const { return !error_.empty(); }
  /// After the connection is closed: the log at the path, if it is that of a file that is gone and was saved. Another
  /// file at the path would take it for its own.
  void remove_stray_log() const;

 private:
  std::optional<std::string> fault();
  std::optional<std::filesystem::path> save() const;

  const Connection* connection_;  // to which check() looks
  const std::filesystem::path path_;
  int64_t bytes_ = 0;  // at the last check
  ino_t log_inode_ = 0;
  bool is_moved_ = false, is_saved_ = false;
  std::string error_;
};

}  // namespace warpwright
