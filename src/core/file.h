// Whole files in and out. Writing goes to a temporary name beside the target and is renamed: never half-written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace warpwright {

/// A part of a file, to be read when it is needed.
struct FileRange {
  std::filesystem::path path;
  int64_t offset = 0, bytes = 0;
};

/// A file open for reading.
class InputFile {
 public:
  /// Throws UsageError (missing, a folder, unreadable, larger than `limit_bytes`) that names the path.
  explicit InputFile(const std::filesystem::path& path, int64_t limit_bytes = std::numeric_limits<int64_t>::max());
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  int64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  /// Fills `to` from `offset` on; the bytes that the file had, fewer where it ends. Throws UsageError that names it.
  int64_t read(int64_t offset, std::span<std::byte> to) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

/// Fills `to`, as long as the range. Throws UsageError that names the path, also where the file ends before.
void read_range(const FileRange& range, std::span<std::byte> to);
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
