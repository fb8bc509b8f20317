// Whole files and parts of them, temporary folders.
#include "src/core/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }
  int release() { return std::exchange(value_, -1); }
  bool close() {
    int value = value_;
    value_ = -1;
    return value < 0 || ::close(value) == 0;
  }

 private:
  int value_;
};

std::string reason() { return std::strerror(errno); }

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

InputFile::InputFile(const std::filesystem::path& path, int64_t limit_bytes) : path_(path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (file.value() < 0 || ::fstat(file.value(), &status) != 0) {
    throw UsageError(fmt::format("cannot read '{}': {}", path.string(), reason()));
  }
  if (S_ISDIR(status.st_mode)) throw UsageError(fmt::format("cannot read '{}': it is a folder", path.string()));
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

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.value() < 0) throw EnvironmentError(fmt::format("cannot write '{}': {}", path.string(), reason()));
  auto fail = [&](const std::string& why) {
    ::unlink(temporary.c_str());
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path.string(), why));
  };
  while (!bytes.empty()) {
    ssize_t put = ::write(file.value(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(reason());
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.value(), 0666 & ~mask) != 0 || ::fsync(file.value()) != 0 || !file.close()) fail(reason());
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail(reason());
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  std::error_code error;
  std::filesystem::path root = std::filesystem::temp_directory_path(error);
  const std::string start = fmt::format("{}-", prefix);
  if (!error) sweep_stale(root, start);
  std::string pattern = (root / (start + std::string(kPlaceholders))).string();
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    throw EnvironmentError(
        fmt::format("cannot make a temporary folder in '{}': {}; set TMPDIR to a folder that can be "
                    "written",
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
