// Temporary name, one transaction's journal in memory, fsync, rename.
#include "database/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "database/schema.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

void require_absent(const std::filesystem::path& path) {
  std::error_code ignored;  // what stands against it is told when it is opened
  if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
    throw UsageError(fmt::format("{}: exists already and would be lost; choose another name", path.string()));
  }
}

}  // namespace

NewFile::NewFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp-{}", path_.string(), getpid())) {
  require_absent(path_);
  try {
    connection_ = std::make_unique<Connection>(temporary_, Connection::Access::read_write, path_);
    connection_->execute("PRAGMA journal_mode = MEMORY");
    connection_->execute("PRAGMA synchronous = OFF");
    create_if_empty(*connection_);
  } catch (...) {
    remove_temporary();
    throw;
  }
}

NewFile::~NewFile() { remove_temporary(); }

void NewFile::remove_temporary() {
  connection_.reset();
  for (const char* suffix : {"", "-journal"}) {
    std::error_code ignored;
    std::filesystem::remove(temporary_.string() + suffix, ignored);
  }
}

void NewFile::finish() {
  connection_.reset();
  const int file = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_on_disk = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!is_on_disk) {
    throw EnvironmentError(fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(error)));
  }
  require_absent(path_);
  std::error_code failure;
  std::filesystem::rename(temporary_, path_, failure);
  if (failure) throw EnvironmentError(fmt::format("{}: cannot be written: {}", path_.string(), failure.message()));
}

}  // namespace warpwright
