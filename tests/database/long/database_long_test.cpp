// The long versions: 200 kills, 32 writers for a minute, merge laws on many databases.
#include <gtest/gtest.h>

#include "database/merge.h"
#include "src/core/file.h"
#include "tests/database/processes.h"
#include "tests/database/random_database.h"

namespace warpwright {
namespace {

TEST(DatabaseLong, TwoHundredKillsLoseNothingThatWasAcknowledged) {
  TemporaryFolder folder;
  kill_a_writer(folder.path(), 200, 10'000);
}

TEST(DatabaseLong, ThirtyTwoWritersForAMinuteSeeNoError) {
  TemporaryFolder folder;
  write_at_once(folder.path(), 32, 60);
}

TEST(DatabaseLong, MergesAreTheSameInAnyOrderAndGrouping) {
  TemporaryFolder folder;
  const auto merged = [&](const std::vector<std::string>& names, const std::string& output) {
    std::vector<std::filesystem::path> inputs;
    for (const std::string& name : names) inputs.push_back(folder.path() / name);
    std::filesystem::remove(folder.path() / output);
    merge_databases(inputs, folder.path() / output);
    return canonical_text(folder.path() / output);
  };
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    for (uint64_t i = 0; i < 3; ++i) {
      const auto path = folder.path() / std::string(1, static_cast<char>('a' + i));
      std::filesystem::remove(path);
      write_random_database(path, 1'000'000 + 3 * seed + i);
    }
    merged({"a", "b"}, "ab");
    merged({"c", "b"}, "cb");
    const std::string all = merged({"a", "b", "c"}, "out");
    ASSERT_TRUE(merged({"c", "ab"}, "out") == all) << seed;
    ASSERT_TRUE(merged({"cb", "a"}, "out") == all) << seed;
    ASSERT_TRUE(merged({"ab", "cb", "ab", "c"}, "out") == all) << seed;
  }
}

}  // namespace
}  // namespace warpwright
