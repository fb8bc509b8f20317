// Whole files in and out. Writing goes to a temporary name beside the target and is renamed: never half-written.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace warpwright {

/// Throws UsageError (missing, a folder, unreadable, larger than `limit_bytes`) that names the path.
std::string read_file(const std::filesystem::path& path, int64_t limit_bytes = int64_t{4} << 30);
/// Throws EnvironmentError (folder missing or not writable, disk full) that names the path.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// A folder of its own under the system's temporary folder, mode 0700, removed with everything in it at the end. A
/// process that is killed leaves its own behind: the next one that is made with that prefix sweeps those whose owner is
/// gone.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view prefix = "warpwright");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // held on the folder while its owner lives
};

}  // namespace warpwright
