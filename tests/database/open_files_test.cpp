// Reading a database's header takes no lock that this process has on it.
#include "database/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database/schema.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

/// Whether another process finds a lock on the file.
bool is_locked(const std::filesystem::path& path) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const int descriptor = open(path.c_str(), O_RDWR);
    const bool asked = descriptor >= 0 && fcntl(descriptor, F_GETLK, &lock) == 0;
    _exit(asked && lock.l_type == F_UNLCK ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

TEST(OpenFiles, ReadingTheHeaderKeepsTheLocksOfConnections) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  {
    const Connection made(path, Connection::Access::read_write);
    made.execute("CREATE TABLE t (x)");
  }
  {
    const Connection first(path, Connection::Access::read_write);
    const Connection second(path, Connection::Access::read_only);
    first.execute("BEGIN IMMEDIATE");
    EXPECT_TRUE(is_locked(path));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(read_file_header(path).is_sqlite);
    EXPECT_TRUE(is_locked(path));
    first.execute("COMMIT");
  }
  EXPECT_FALSE(is_locked(path));
  EXPECT_TRUE(read_file_header(path).is_sqlite);
}

TEST(OpenFiles, ShortAndMissingFiles) {
  const TemporaryFolder folder;
  write_file(folder.path() / "short", "SQL");
  EXPECT_EQ(read_start(folder.path() / "short")[2], 'L');
  EXPECT_EQ(read_start(folder.path() / "short")[3], 0);
  EXPECT_ANY_THROW(read_start(folder.path() / "missing"));
}

}  // namespace
}  // namespace warpwright
