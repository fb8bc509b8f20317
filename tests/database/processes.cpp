// Children, kills and what must hold afterwards.
#include "tests/database/processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <vector>

#include "database/database.h"
#include "database/schema.h"
#include "tests/database/record_fixture.h"

namespace warpwright {

pid_t start_process(const std::function<void()>& body) {
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

void kill_a_writer(const std::filesystem::path& folder, int kills, int records_of_other) {
  constexpr int kOfOther = 1'000'000'000;
  const auto path = folder / "a.db", acknowledged = folder / "acknowledged";
  open_database(path, OpenMode::read_write)->close();
  const pid_t other = start_process([&] {
    auto database = open_database(path, OpenMode::read_write);
    for (int i = 0; i < records_of_other; ++i) {
      database->add(make_record(kOfOther + i));
      usleep(500);
    }
    database->close();
  });
  for (int round = 0; round < kills; ++round) {
    const pid_t victim = start_process([&] {
      std::ofstream log(acknowledged, std::ios::app);
      auto database = open_database(path, OpenMode::read_write);
      for (int i = 0;; ++i) log << database->add(make_record(round * 1'000'000 + i)) << std::endl;
    });
    usleep(20'000 + 3'000 * static_cast<unsigned>(round % 37));
    kill(victim, SIGKILL);
    EXPECT_EQ(wait_for(victim), 128 + SIGKILL);
  }
  EXPECT_EQ(wait_for(other), 0);

  auto database = open_database(path, OpenMode::read_write);
  std::set<std::string> present;
  int of_other = 0;
  for (const Record& record : database->records(workload_key())) {
    present.insert(record.content_key);
    of_other += Json::parse(record.config_json)["knobs"]["n"].get<int>() >= kOfOther;
  }
  EXPECT_EQ(of_other, records_of_other);
  std::ifstream log(acknowledged);
  int lines = 0;
  for (std::string key; std::getline(log, key);) {
    if (key.size() != 64) continue;  // the last line of a killed process
    ++lines;
    EXPECT_TRUE(present.contains(key));
  }
  EXPECT_GT(lines, 0);
  database->close();
  EXPECT_FALSE(read_file_header(path).is_wal);
  EXPECT_EQ(Connection(path, Connection::Access::read_only).text("PRAGMA integrity_check"), "ok");
}

void write_at_once(const std::filesystem::path& folder, int writers, double seconds) {
  const auto path = folder / "a.db";
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    children.push_back(start_process([&, writer] {
      auto database = open_database(path, OpenMode::read_write);
      int added = 0;
      // Each at least once, on a busy machine too.
      for (; added == 0 || std::chrono::steady_clock::now() < end; ++added) {
        database->add(make_record(writer * 10'000'000 + added));
      }
      database->close();
      std::ofstream(folder / std::to_string(writer)) << added;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  int64_t added = 0;
  for (int writer = 0; writer < writers; ++writer) {
    int64_t of_writer = 0;
    std::ifstream(folder / std::to_string(writer)) >> of_writer;
    EXPECT_GT(of_writer, 0) << "writer " << writer;
    added += of_writer;
  }
  EXPECT_EQ(open_database(path, OpenMode::read_only)->statistics().records, added);
  EXPECT_FALSE(read_file_header(path).is_wal);
  std::printf("%d writers: %lld records\n", writers, static_cast<long long>(added));
}

}  // namespace warpwright
