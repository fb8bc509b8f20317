// NewFile: a database that is written whole under a temporary name, then renamed.
#pragma once

#include <filesystem>
#include <memory>

#include "database/sqlite.h"

namespace warpwright {

class NewFile {
 public:
  /// Empty tables of today's schema beside `path`. Throws UsageError when `path` exists already.
  explicit NewFile(std::filesystem::path path);
  /// Removes what was not finished.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const Connection& connection() const { return *connection_; }
  /// Closes the file, has it on the disk and gives it its name.
  void finish();

 private:
  void remove_temporary();

  std::filesystem::path path_, temporary_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace warpwright
