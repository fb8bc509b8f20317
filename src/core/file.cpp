// Whole files and parts of them, temporary folders.
#include "src/core/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include "src/core/error.h"

namespace warpwright {

namespace {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

std::string reason() { return std::strerror(errno); }

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::regular;
  return S_ISDIR(mode) ? FileKind::folder : FileKind::special;
}

constexpr const char* kNoRegularFile = "is no regular file (a pipe, a socket or a device)";

constexpr std::string_view kPlaceholders = "XXXXXX";  // of mkdtemp
constexpr time_t kYoung_s = 60;                       // between making a folder and locking it nobody may sweep it

/// Removes PREFIX-xxxxxx folders of this user whose lock nobody holds.
void sweep_stale(const std::filesystem::path& root, const std::string& prefix) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kPlaceholders.size()) continue;
    const Descriptor folder(::open(entry->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (folder.value() < 0 || ::fstat(folder.value(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (::time(nullptr) - status.st_mtime < kYoung_s || ::flock(folder.value(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;  // what cannot be removed stays for the next one
    std::filesystem::remove_all(entry->path(), ignored);
  }
}

}  // namespace

FileKind file_kind(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return kind_of(status.st_mode);
  if (errno == ENOENT || errno == ENOTDIR) return FileKind::none;
  const std::string text = fmt::format("{}: cannot be looked at: {}", path.string(), reason());
  if (errno == ENAMETOOLONG || errno == ELOOP) throw UsageError(text + "; name another file");
  throw EnvironmentError(text + "; check the permissions of its folder");
}

void require_regular(const std::filesystem::path& path) {
  const FileKind kind = file_kind(path);
  if (kind == FileKind::folder) throw UsageError(fmt::format("{}: is a folder, no file", path.string()));
  if (kind == FileKind::special) throw UsageError(fmt::format("{}: {}", path.string(), kNoRegularFile));
}

void require_replaceable(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    throw UsageError(
        fmt::format("{}: is a symbolic link, which is not replaced; name the file that it stands for", path.string()));
  }
  const FileKind kind = file_kind(path);
  if (kind == FileKind::folder) throw UsageError(fmt::format("{}: is a folder; name a file", path.string()));
  if (kind == FileKind::special) {
    throw UsageError(fmt::format("{}: {}, and is not replaced; name another file", path.string(), kNoRegularFile));
  }
}

InputFile::InputFile(const std::filesystem::path& path, int64_t limit_bytes) : path_(path) {
  // Non-blocking: opening a pipe that nobody writes to must not wait.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (file.value() < 0 || ::fstat(file.value(), &status) != 0) {
    throw UsageError(fmt::format("cannot read '{}': {}", path.string(), reason()));
  }
  const FileKind kind = kind_of(status.st_mode);
  if (kind == FileKind::folder) throw UsageError(fmt::format("cannot read '{}': it is a folder", path.string()));
  if (kind == FileKind::special)
    throw UsageError(fmt::format("cannot read '{}': it {}", path.string(), kNoRegularFile));
  if (status.st_size > limit_bytes) {
    throw UsageError(fmt::format("cannot read '{}': {} bytes are more than the limit of {}", path.string(),
                                 status.st_size, limit_bytes));
  }
  bytes_ = status.st_size;
  descriptor_ = file.release();
}

InputFile::~InputFile() { ::close(descriptor_); }

int64_t InputFile::read(int64_t offset, std::span<std::byte> to) const {
  size_t have = 0;
  while (have < to.size()) {
    const ssize_t got = ::pread(descriptor_, to.data() + have, to.size() - have,
                                static_cast<off_t>(offset + static_cast<int64_t>(have)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw UsageError(fmt::format("cannot read '{}': {}", path_.string(), reason()));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(have);
}

void read_range(const FileRange& range, std::span<std::byte> to) {
  if (to.empty()) return;
  if (InputFile(range.path).read(range.offset, to) < range.bytes) {
    throw UsageError(
        fmt::format("cannot read '{}': it ends before byte {}", range.path.string(), range.offset + range.bytes));
  }
}

std::string read_file(const std::filesystem::path& path, int64_t limit_bytes) {
  const InputFile file(path, limit_bytes);
  std::string bytes(static_cast<size_t>(file.bytes()), '\0');
  bytes.resize(static_cast<size_t>(file.read(0, std::as_writable_bytes(std::span(bytes)))));
  return bytes;
}

LineReader::LineReader(const std::filesystem::path& path, size_t most_line_bytes)
    : path_(path), most_line_bytes_(most_line_bytes), file_(path) {}

std::string LineReader::place() const { return fmt::format("{}: line {}", path_.string(), number_); }

bool LineReader::fill() {
  constexpr size_t kPieceBytes = size_t{1} << 16;
  piece_.resize(kPieceBytes);
  piece_.resize(static_cast<size_t>(file_.read(offset_, std::as_writable_bytes(std::span(piece_)))));
  offset_ += static_cast<int64_t>(piece_.size());
  at_ = 0;
  return !piece_.empty();
}

bool LineReader::next(std::string& line) {
  line.clear();
  if (at_ == piece_.size() && !fill()) return false;
  ++number_;
  for (;;) {
    const size_t end = std::min(piece_.find('\n', at_), piece_.size());
    const bool is_whole = end < piece_.size();
    line.append(piece_, at_, end - at_);
    at_ = end + (is_whole ? 1 : 0);
    if (line.size() > most_line_bytes_ + 1) {  // a carriage return may still go
      throw UsageError(fmt::format("{} has more than {} bytes", place(), most_line_bytes_));
    }
    if (is_whole || !fill()) break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::string first_line(const std::filesystem::path& path, size_t most_bytes) {
  if (file_kind(path) != FileKind::regular) return {};
  std::string line(most_bytes, '\0');
  line.resize(static_cast<size_t>(InputFile(path).read(0, std::as_writable_bytes(std::span(line)))));
  line.resize(std::min(line.find('\n'), line.size()));
  return line;
}

OutputFile::OutputFile(const std::filesystem::path& path) : path_(path), temporary_(path.string() + ".partial-XXXXXX") {
  require_replaceable(path_);
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail();
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::fail() const {
  throw EnvironmentError(fmt::format("cannot write '{}': {}", path_.string(), reason()));
}

void OutputFile::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail();
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

void OutputFile::write(std::string_view bytes) {
  constexpr size_t kPieceBytes = size_t{1} << 16;
  if (waiting_.size() + bytes.size() > kPieceBytes) {
    put(waiting_);
    waiting_.clear();
  }
  if (bytes.size() > kPieceBytes) return put(bytes);
  waiting_ += bytes;
}

void OutputFile::finish() {
  put(waiting_);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor_, 0666 & ~mask) != 0 || ::fsync(descriptor_) != 0) fail();
  require_replaceable(path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  ::close(std::exchange(descriptor_, -1));
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.finish();
}

std::filesystem::path temporary_root() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const FileKind kind = file_kind(value);
    if (kind == FileKind::folder) return value;
    const char* why = kind == FileKind::none ? "there is no such folder" : "it is no folder";
    throw EnvironmentError(
        fmt::format("temporary files: ${} is '{}': {}; set it to a folder that can be written", variable, value, why));
  }
  return "/tmp";
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  const std::filesystem::path root = temporary_root();
  const std::string start = fmt::format("{}-", prefix);
  sweep_stale(root, start);
  std::string pattern = (root / (start + std::string(kPlaceholders))).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw EnvironmentError(
        fmt::format("cannot make a temporary folder in '{}': {}; set $TMPDIR to a folder that can be written",
                    root.string(), reason()));
  }
  path_ = pattern;
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace warpwright
