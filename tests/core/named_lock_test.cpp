// NamedLock: one holder, no trace behind it, no link followed.
#include "src/core/named_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

std::string own_name(const char* test) { return std::string(test) + std::to_string(::getpid()); }

TEST(NamedLock, OneHolderAndNoTrace) {
  NamedLock first(own_name("one")), second(own_name("one"));
  EXPECT_TRUE(first.try_lock());
  EXPECT_FALSE(second.try_lock());
  first.unlock();
  EXPECT_TRUE(second.try_lock());
  second.unlock();
  EXPECT_FALSE(std::filesystem::exists("/tmp/warpwright-" + own_name("one") + ".lock"));
}

TEST(NamedLock, LinkIsNotFollowed) {
  const TemporaryFolder folder("warpwright-named-lock");
  const std::filesystem::path target = folder.path() / "target";
  const std::filesystem::path link = "/tmp/warpwright-" + own_name("link") + ".lock";
  for (const bool target_exists : {false, true}) {
    if (target_exists) write_file(target, "precious");
    std::filesystem::create_symlink(target, link);
    NamedLock lock(own_name("link"));
    EXPECT_THROW(lock.try_lock(), EnvironmentError);
    EXPECT_EQ(std::filesystem::exists(target), target_exists);
    std::filesystem::remove(link);
  }
  EXPECT_EQ(read_file(target), "precious");
}

}  // namespace
}  // namespace warpwright
