// kill -9 at random moments of a tuning run.
//
//   kill_suite KILLS [SEED]
//
// A child tunes with compiler and device stand-ins and tells of each trial as soon as it is committed; it is killed
// between 5 ms and a second after its start, again and again. Fails when a trial that was told of is not in the
// database afterwards, when `PRAGMA integrity_check` is not ok, or when the run does not go on.
#include <fmt/format.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <set>

#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/night/drawn_fault.h"
#include "tests/night/night.h"

using namespace warpwright;

namespace {

constexpr int kKillsARun = 20;  // then another seed: a run that goes on replays itself first
constexpr int64_t kEndless = 1'000'000;

NightOptions options_of(const std::string& database, uint64_t seed) {
  NightOptions options;
  options.worker = WARPWRIGHT_FAULTY_WORKER;
  options.database = database;
  options.trials = kEndless;
  options.seed = seed;
  options.strategy = Strategy::random;
  options.run_timeout_s = options.compile_timeout_s = 5;
  return options;
}

[[noreturn]] void tune_and_tell(const NightOptions& options, int channel) {
  try {
    run_night(options, [&](const TuneSummary& summary) {
      if (write(channel, &summary.trials, sizeof(summary.trials)) < 0) _exit(1);
    });
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
  }
  _exit(1);
}

/// Trials that the child told of before it was killed; -1: it ended by itself.
int64_t tune_and_kill(const NightOptions& options, int64_t known, bool at_start, std::chrono::milliseconds after) {
  int channel[2];
  if (pipe(channel) != 0) throw EnvironmentError("no pipe");
  const pid_t child = fork();
  if (child == 0) tune_and_tell(options, channel[1]);
  close(channel[1]);
  int64_t told = 0, trials = 0;
  const auto next = [&] { return read(channel[0], &trials, sizeof(trials)) == static_cast<ssize_t>(sizeof(trials)); };
  while (!at_start && told <= known && next()) told = trials;
  usleep(static_cast<useconds_t>(after.count()) * 1000);
  kill(child, SIGKILL);
  while (next()) told = trials;
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? told : -1;
}

std::string integrity(const std::string& path) {
  sqlite3* handle = nullptr;
  std::string answer = "cannot be opened";
  if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    answer.clear();
    sqlite3_exec(
        handle, "PRAGMA integrity_check",
        [](void* text, int, char** values, char**) {
          *static_cast<std::string*>(text) += values[0];
          return 0;
        },
        &answer, nullptr);
  }
  sqlite3_close(handle);
  return answer;
}

/// Distinct trials of the run in the database that need no repetition.
int64_t stored_trials(const std::string& path, uint64_t seed) {
  const auto database = open_database(path, OpenMode::read_write);
  std::set<int64_t> stored;
  for (const RunInfo& run : database->runs()) {
    if (run.key.seed != seed) continue;
    for (const Record& record : database->run_records(run.id)) stored.insert(record.trial_index);
  }
  database->close();
  return static_cast<int64_t>(stored.size());
}

int run(int kills, uint64_t seed) {
  const TemporaryFolder folder("warpwright-kills");
  setenv(kNightFolderVariable, folder.path().c_str(), 1);
  setenv(kNightStandInVariable, "1", 1);
  const std::string database = (folder.path() / "kills.db").string();
  std::mt19937_64 random(seed);
  int64_t lost = 0, told_in_all = 0, early = 0;
  int damaged = 0, stuck = 0;
  int64_t stored_before = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const auto run_seed = static_cast<uint64_t>(kill / kKillsARun) + 1;
    if (kill % kKillsARun == 0) stored_before = 0;
    const auto after = std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 1000)(random));
    const int64_t told = tune_and_kill(options_of(database, run_seed), stored_before, kill % 5 == 4, after);
    if (told < 0) ++stuck;
    early += told == 0;
    if (!std::filesystem::exists(database)) continue;
    const int64_t stored = stored_trials(database, run_seed);
    damaged += integrity(database) != "ok";
    lost += std::max<int64_t>(0, std::max(told, stored_before) - stored);
    told_in_all += std::max<int64_t>(0, stored - stored_before);
    stored_before = stored;
    if ((kill + 1) % kKillsARun == 0) {
      fmt::print("{:>4} kills: {} trials committed, {} lost, {} damaged, {} did not go on\n", kill + 1, told_in_all,
                 lost, damaged, stuck);
      std::fflush(stdout);
    }
  }
  const bool is_right = lost == 0 && damaged == 0 && stuck == 0 && told_in_all > 0;
  fmt::print(
      "{} kills ({} before the first trial): {} acknowledged trials lost, {} databases damaged, {} runs did not go "
      "on\n{}\n",
      kills, early, lost, damaged, stuck, is_right ? "passed" : "FAILED");
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: kill_suite KILLS [SEED]\n");
    return 2;
  }
  try {
    return run(std::stoi(argv[1]), argc > 2 ? std::stoull(argv[2]) : 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kill_suite: {}\n", error.what());
    return 1;
  }
}
