// The one list of open database files.
#include "database/open_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "src/core/error.h"

namespace warpwright {
namespace {

struct Entry {
  int connections = 0;
  int descriptor = -1;  // of read_start
};

std::mutex mutex;
std::map<std::pair<dev_t, ino_t>, Entry> open_files;

}  // namespace

OpenFile::OpenFile(const std::filesystem::path& path) {
  struct stat status {};
  if (path.empty() || stat(path.c_str(), &status) != 0) return;
  file_ = {status.st_dev, status.st_ino};
  const std::lock_guard lock(mutex);
  ++open_files[file_].connections;
}

OpenFile::~OpenFile() {
  const std::lock_guard lock(mutex);
  const auto found = open_files.find(file_);
  if (found == open_files.end() || --found->second.connections > 0) return;
  if (found->second.descriptor >= 0) ::close(found->second.descriptor);
  open_files.erase(found);
}

std::array<char, 100> read_start(const std::filesystem::path& path) {
  std::array<char, 100> bytes{};
  const std::lock_guard lock(mutex);
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  const auto found = exists ? open_files.find({status.st_dev, status.st_ino}) : open_files.end();
  const bool is_kept = found != open_files.end() && found->second.descriptor >= 0;
  const int descriptor = is_kept ? found->second.descriptor : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw EnvironmentError(fmt::format("{}: cannot be read; check its permissions", path.string()));
  const ssize_t count = pread(descriptor, bytes.data(), bytes.size(), 0);
  if (found != open_files.end()) {
    found->second.descriptor = descriptor;
  } else {
    ::close(descriptor);
  }
  if (count < 0) throw EnvironmentError(fmt::format("{}: cannot be read", path.string()));
  return bytes;
}

}  // namespace warpwright
