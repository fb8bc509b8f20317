// Files in and out. Only regular files are read: a pipe or a device would be waited for. Writing goes to a temporary
// name beside the target and is renamed: never half-written, and only a regular file is replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace warpwright {

/// What lies at a path, links followed.
enum class FileKind { none, regular, folder, special };
/// Throws UsageError for a path that no file can have (too long, a loop of links), EnvironmentError for one that may
/// not be looked at.
FileKind file_kind(const std::filesystem::path& path);
/// Throws UsageError that names the path when there is something else than a regular file.
void require_regular(const std::filesystem::path& path);
/// Throws UsageError that names the path when there is something that a rename would replace and that is no regular
/// file, be it a link to one.
void require_replaceable(const std::filesystem::path& path);

/// A part of a file, to be read when it is needed.
struct FileRange {
  std::filesystem::path path;
  int64_t offset = 0, bytes = 0;
};

/// A file open for reading.
class InputFile {
 public:
  /// Throws UsageError (missing, no regular file, unreadable, larger than `limit_bytes`) that names the path.
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

/// Lines of a file, one after the other.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path, size_t most_line_bytes);
  /// The next line without its end, be it `\n` or `\r\n`; false at the end of the file. Throws UsageError that names
  /// file and line for one that is longer than the limit.
  bool next(std::string& line);
  /// Of the line that was given last; the first is 1.
  int64_t number() const { return number_; }
  /// `FILE: line N`.
  std::string place() const;

 private:
  bool fill();

  const std::filesystem::path path_;
  const size_t most_line_bytes_;
  InputFile file_;
  std::string piece_;
  size_t at_ = 0;
  int64_t offset_ = 0, number_ = 0;
};

/// The first line of a regular file, cut to `most_bytes`; empty where there is none. Tells files of one kind from
/// others.
std::string first_line(const std::filesystem::path& path, size_t most_bytes);

/// Fills `to`, as long as the range. Throws UsageError that names the path, also where the file ends before.
void read_range(const FileRange& range, std::span<std::byte> to);
/// Throws UsageError (missing, no regular file, unreadable, larger than `limit_bytes`) that names the path.
std::string read_file(const std::filesystem::path& path, int64_t limit_bytes = int64_t{4} << 30);

/// A file that is written piece by piece under another name and gets its own at the end. All errors name the path:
/// UsageError for a place that may not be replaced, EnvironmentError (folder missing or not writable, disk full).
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  /// Removes what was not finished.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view bytes);
  /// Has it on the disk and gives it its name.
  void finish();

 private:
  void put(std::string_view bytes);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::string waiting_;  // to be written in one piece
};
/// A whole file as an OutputFile.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// The folder for temporary files: the first of $TMPDIR, $TMP, $TEMP and $TEMPDIR that is not empty, else /tmp. Throws
/// EnvironmentError that names the variable when it is no folder.
std::filesystem::path temporary_root();

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
