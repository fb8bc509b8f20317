// Looking at the path, and a copy of what is open.
#include "database/file_guard.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "database/schema.h"
#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

std::filesystem::path log_of(const std::filesystem::path& database) { return database.string() + "-wal"; }

ino_t inode_of(const std::filesystem::path& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

void remove_database(const std::filesystem::path& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix, ignored);
}

std::filesystem::path unused(const std::filesystem::path& wanted) {
  std::filesystem::path path = wanted;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(path)); ++number) {
    path = fmt::format("{}-{}", wanted.string(), number);
  }
  return path;
}

/// What the header of the open file says of its size; 0 where there is none. Read by SQLite's own handle: to open the
/// file once more and close it would take all locks that this process has on it.
int64_t stated_bytes_of(const Connection& connection) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  std::array<char, 100> header{};
  if (file == nullptr || file->pMethods == nullptr) return 0;
  if (file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0) != SQLITE_OK) return 0;
  return stated_bytes(header);
}

/// Throws when it cannot be read whole.
void copy_database(const Connection& from, const std::filesystem::path& path) {
  const Connection to(path, Connection::Access::read_write);
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) to.fail(sqlite3_errcode(to.handle()));
  sqlite3_backup_step(backup, -1);
  if (const int status = sqlite3_backup_finish(backup); status != SQLITE_OK) to.fail(status);
  to.execute("PRAGMA journal_mode = DELETE");  // a file that is whole by itself
  check_layout(to);
  if (to.text("PRAGMA quick_check(1)") != "ok") throw UsageError(fmt::format("{}: is damaged", path.string()));
}

}  // namespace

void FileGuard::check() {
  if (is_lost()) throw EnvironmentError(error_);
  const std::optional<std::string> what = fault();
  if (!what) return;
  const auto copy = save();
  is_saved_ = copy.has_value();
  error_ =
      fmt::format("{}: the database {} while it was written to; {}", path_.string(), *what,
                  copy ? fmt::format("all that it held, this run's records too, is saved in {}: put that in its place",
                                     copy->string())
                       : "it could not be saved: what was recorded is lost as far as it is in no copy");
  throw EnvironmentError(error_);
}

std::optional<std::string> FileGuard::fault() {
  int moved = 0;
  sqlite3_file_control(connection_->handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  struct stat file {};
  const bool exists = stat(path_.c_str(), &file) == 0;
  is_moved_ = moved != 0 || !exists;
  if (!exists) return "was deleted or moved away";
  if (moved != 0) return "was replaced by another file";
  // Others may shrink it too (VACUUM), but then its header says so.
  const int64_t stated = file.st_size < bytes_ ? stated_bytes_of(*connection_) : bytes_;
  if (file.st_size < bytes_ && (stated == 0 || file.st_size < stated)) {
    return fmt::format("was cut from {} bytes to {}", bytes_, static_cast<int64_t>(file.st_size));
  }
  bytes_ = file.st_size;
  log_inode_ = inode_of(log_of(path_));
  return std::nullopt;
}

std::optional<std::filesystem::path> FileGuard::save() const {
  for (const bool is_beside : {true, false}) {
    std::filesystem::path copy;
    try {
      const std::filesystem::path folder = is_beside ? path_.parent_path() : temporary_root();
      copy = unused(folder / fmt::format("{}.rescued-{}", path_.filename().string(), getpid()));
      copy_database(*connection_, copy);
      return copy;
    } catch (const Error&) {
      if (!copy.empty()) remove_database(copy);
    }
  }
  return std::nullopt;
}

void FileGuard::remove_stray_log() const {
  const std::filesystem::path log = log_of(path_);
  if (!is_moved_ || !is_saved_ || log_inode_ == 0 || inode_of(log) != log_inode_) return;
  std::error_code ignored;
  std::filesystem::remove(log, ignored);
  std::filesystem::remove(path_.string() + "-shm", ignored);
}

}  // namespace warpwright
