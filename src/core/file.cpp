// Whole files, temporary folders.
#include "src/core/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

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
  bool close() {
    int value = value_;
    value_ = -1;
    return value < 0 || ::close(value) == 0;
  }

 private:
  int value_;
};

std::string reason() { return std::strerror(errno); }

}  // namespace

std::string read_file(const std::filesystem::path& path, int64_t limit_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) throw UsageError(fmt::format("cannot read '{}': {}", path.string(), reason()));
  struct stat status {};
  if (::fstat(file.value(), &status) != 0)
    throw UsageError(fmt::format("cannot read '{}': {}", path.string(), reason()));
  if (S_ISDIR(status.st_mode)) throw UsageError(fmt::format("cannot read '{}': it is a folder", path.string()));
  if (status.st_size > limit_bytes) {
    throw UsageError(fmt::format("cannot read '{}': {} bytes are more than the limit of {}", path.string(),
                                 status.st_size, limit_bytes));
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t got = ::read(file.value(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw UsageError(fmt::format("cannot read '{}': {}", path.string(), reason()));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
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
  std::string pattern = (root / fmt::format("{}.XXXXXX", prefix)).string();
  if (error || ::mkdtemp(pattern.data()) == nullptr) {
    throw EnvironmentError(
        fmt::format("cannot make a temporary folder in '{}': {}; set TMPDIR to a folder that can be "
                    "written",
                    root.string(), reason()));
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace warpwright
