// NamedLock follows no link. (Holders: files_test.)
#include "src/core/named_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

TEST(NamedLock, LinkIsNotFollowed) {
  const TemporaryFolder folder("warpwright-named-lock");
  const std::filesystem::path target = folder.path() / "target";
  NamedLock lock("link" + std::to_string(::getpid()));
  const std::filesystem::path link = lock.path();
  for (const bool target_exists : {false, true}) {
    if (target_exists) write_file(target, "precious");
    std::filesystem::create_symlink(target, link);
    EXPECT_THROW(lock.try_lock(), EnvironmentError);
    EXPECT_EQ(std::filesystem::exists(target), target_exists);
    std::filesystem::remove(link);
  }
  EXPECT_EQ(read_file(target), "precious");
}

}  // namespace
}  // namespace warpwright
