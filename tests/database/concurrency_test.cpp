// Many processes on one file: creation, two writers, kill -9.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <set>

#include "database/database.h"
#include "database/schema.h"
#include "src/core/file.h"
#include "tests/database/record_fixture.h"

namespace warpwright {
namespace {

pid_t start(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Concurrency, ThirtyTwoProcessesCreateOneDatabase) {
  TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  std::array<int, 2> gate{};
  ASSERT_EQ(pipe(gate.data()), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 32; ++i) {
    children.push_back(start([&, i] {
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
  EXPECT_EQ(database->records("w1-aa").size(), 32u);
  EXPECT_EQ(database->runs().size(), 1u);
}

TEST(Concurrency, KilledWritersLoseNothingThatWasAcknowledged) {
  constexpr int kKills = 12, kRecordsOfOther = 300;
  TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  const auto acknowledged = folder.path() / "acknowledged";
  open_database(path, OpenMode::read_write)->close();

  const pid_t other = start([&] {
    auto database = open_database(path, OpenMode::read_write);
    for (int i = 0; i < kRecordsOfOther; ++i) {
      database->add(make_record(100'000'000 + i));
      usleep(500);
    }
    database->close();
  });
  for (int round = 0; round < kKills; ++round) {
    const pid_t victim = start([&] {
      std::ofstream log(acknowledged, std::ios::app);
      auto database = open_database(path, OpenMode::read_write);
      for (int i = 0;; ++i) log << database->add(make_record(round * 100'000 + i)) << std::endl;
    });
    usleep(20'000 + 3'000 * static_cast<unsigned>(round));
    kill(victim, SIGKILL);
    EXPECT_EQ(wait_for(victim), 128 + SIGKILL);
  }
  EXPECT_EQ(wait_for(other), 0);

  auto database = open_database(path, OpenMode::read_write);
  std::set<std::string> present;
  size_t of_other = 0;
  for (const Record& record : database->records("w1-aa")) {
    present.insert(record.content_key);
    of_other += Json::parse(record.config_json)["knobs"]["n"].get<int>() >= 100'000'000;
  }
  EXPECT_EQ(of_other, static_cast<size_t>(kRecordsOfOther));
  std::ifstream log(acknowledged);
  size_t lines = 0;
  for (std::string key; std::getline(log, key);) {
    if (key.size() != 64) continue;  // the last line of a killed process
    ++lines;
    EXPECT_TRUE(present.contains(key));
  }
  EXPECT_GT(lines, 0u);
  database->close();
  EXPECT_FALSE(read_file_header(path).is_wal);
  EXPECT_EQ(Connection(path, Connection::Access::read_only).text("PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace warpwright
