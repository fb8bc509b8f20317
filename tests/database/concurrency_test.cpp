// Many processes on one file: creation, writers at once, kill -9.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "database/database.h"
#include "src/core/file.h"
#include "tests/database/processes.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

TEST(Concurrency, T07ThirtyTwoProcessesCreateOneDatabase) {
  TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  std::array<int, 2> gate{};
  ASSERT_EQ(pipe(gate.data()), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 32; ++i) {
    children.push_back(start_process([&, i] {
      ::close(gate[1]);
      char byte = 0;
      if (read(gate[0], &byte, 1) != 0) _exit(2);  // ends when the parent closes its side
      auto database = open_database(path, OpenMode::read_write);
      database->add(make_record(i));
      database->begin_run(make_run_key(), "m");
      database->close();
    }));
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  auto database = open_database(path, OpenMode::read_only);
  EXPECT_EQ(database->records(workload_key()).size(), 32u);
  EXPECT_EQ(database->runs().size(), 1u);
}

TEST(Concurrency, T06KilledWritersLoseNothingThatWasAcknowledged) {
  TemporaryFolder folder;
  kill_a_writer(folder.path(), 12, 300);
}

TEST(Concurrency, WritersAtOnceSeeNoError) {
  TemporaryFolder folder;
  write_at_once(folder.path(), 8, 1);
}

}  // namespace
}  // namespace warpwright
