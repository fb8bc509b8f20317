// mutation_suite: databases and exports with something changed in them, read by everything that reads them. Meant for
// the sanitizers: cmake --preset asan && cmake --build build/asan --target mutation_suite
//
//   mutation_suite [--first 0] [--count 100000] [--jobs N] [--folder /dev/shm] [--corpus tests/data/databases]
//   mutation_suite --index 17 --keep FILE       writes that case to a file and runs it in this process
//
// Every second case is a database, the others are JSON lines. The seeds are the files of the corpus and a small
// database of its own. A case that ends its process, or takes more than 20 seconds, or throws anything but a typed
// error that blames the input is a fault: it is named by its index, and the exit status is 1.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "database/check.h"
#include "database/database.h"
#include "database/json_lines.h"
#include "database/merge.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/log.h"
#include "tests/database/mutation/mutated_files.h"
#include "tests/database/random_database.h"

using namespace warpwright;

namespace {

struct Options {
  int64_t first = 0, count = 100'000, index = -1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string folder = "/dev/shm", corpus = WARPWRIGHT_SOURCE_DIR "/tests/data/databases", keep;
};

struct Seeds {
  std::vector<std::string> databases, lines;
};

Seeds read_seeds(const Options& options, const std::filesystem::path& folder) {
  Seeds seeds;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(options.corpus)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (uint64_t seed = 0; seed < 4; ++seed) {
    files.push_back(folder / fmt::format("seed{}.db", seed));
    write_random_database(files.back(), seed);
  }
  for (const auto& file : files) {
    if (file.extension() == ".db") {
      seeds.databases.push_back(read_file(file));
      seeds.lines.push_back(canonical_text(file));
    }
  }
  return seeds;
}

bool is_of_database(int64_t index) { return index % 2 == 0; }

std::string case_bytes(const Seeds& seeds, int64_t index) {
  const auto seed = static_cast<uint64_t>(index);
  const std::vector<std::string>& from = is_of_database(index) ? seeds.databases : seeds.lines;
  const std::string& whole = from[seed / 2 % from.size()];
  return is_of_database(index) ? mutated_database(whole, seed) : mutated_lines(whole, seed);
}

/// Everything that a build, a merge and a look into the database read.
void read_database(const std::filesystem::path& path) {
  const auto database = open_database(path, OpenMode::read_only);
  database->statistics();
  database->list("", "", 10);
  for (const RunInfo& run : database->runs()) database->run_records(run.id);
  for (const std::string& key : database->workload_keys()) {
    for (const Record& record : database->best(key, "", 2)) {
      database->objections(key, record.config_json, record.arch);
      database->default_us(key, record.run_uid);
    }
    database->near(database->workload_json(key), 4);
  }
}

/// True when the input was taken, wholly or in part. Throws what blames anything but the input.
bool run_case(const std::filesystem::path& file, bool is_database, const std::filesystem::path& scratch) {
  bool taken = true;
  const auto attempt = [&](const auto& body) {
    try {
      body();
    } catch (const UsageError&) {
      taken = false;
    } catch (const EnvironmentError&) {  // e.g. a header that asks for a write-ahead log in a place where none may be
      taken = false;
    }
  };
  if (is_database) {
    attempt([&] { read_database(file); });
    attempt([&] { check_database(file, [](const Record&) {}); });
    attempt([&] { merge_databases({file}, ""); });
  } else {
    std::filesystem::remove(scratch);
    attempt([&] { import_rows(file, scratch); });
    if (taken) read_database(scratch);
  }
  return taken;
}

/// Where each share stands, in memory that the processes have in common.
using Progress = std::atomic<int64_t>;

/// Cases first, first + jobs, ... below `end`, each announced before it runs.
int run_share(const Options& options, const Seeds& seeds, int64_t first, int64_t end, Progress& progress) {
  const std::filesystem::path folder = fmt::format("{}/mutation-{}", options.folder, getpid());
  std::filesystem::create_directory(folder);
  set_log_level(LogLevel::error);
  int status = 0;
  for (int64_t index = first; index < end && status == 0; index += options.jobs) {
    alarm(20);
    const std::filesystem::path file = folder / "case";
    progress = index;
    try {
      write_file(file, case_bytes(seeds, index));
      run_case(file, is_of_database(index), folder / "scratch");
    } catch (const std::exception& error) {
      fmt::print(stderr, "case {}: {}\n", index, error.what());
      status = 1;
    }
  }
  std::filesystem::remove_all(folder);
  return status;
}

/// One process a share; one that ends badly is replaced behind its fault.
int run_all(const Options& options, const Seeds& seeds) {
  const auto start = std::chrono::steady_clock::now();
  void* memory =
      mmap(nullptr, options.jobs * sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw EnvironmentError("no memory to share");
  auto* progress = static_cast<Progress*>(memory);
  const int64_t end = options.first + options.count;
  std::map<pid_t, unsigned> shares;
  const auto begin_share = [&](unsigned job, int64_t first) {
    const pid_t child = fork();
    if (child == 0) _exit(run_share(options, seeds, first, end, progress[job]));
    shares.emplace(child, job);
  };
  for (unsigned job = 0; job < options.jobs; ++job) begin_share(job, options.first + job);
  int faults = 0;
  while (!shares.empty()) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    const unsigned job = shares.at(child);
    shares.erase(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++faults;
    fmt::print(stderr, "case {} ended its process (status {})\n", progress[job].load(), status);
    if (progress[job] + options.jobs < end && faults < 100) begin_share(job, progress[job] + options.jobs);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("cases {} to {} in {:.0f} s, {} faults\n", options.first, end - 1, seconds, faults);
  return faults == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Mutated databases and exports");
  Options options;
  app.add_option("--first", options.first)->capture_default_str();
  app.add_option("--count", options.count)->capture_default_str();
  app.add_option("--jobs", options.jobs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--folder", options.folder, "where the cases are written")->capture_default_str();
  app.add_option("--corpus", options.corpus, "databases to start from")->capture_default_str();
  app.add_option("--index", options.index, "run this case alone, in this process");
  app.add_option("--keep", options.keep, "with --index: where to write the case");
  CLI11_PARSE(app, argc, argv);
  TemporaryFolder folder;
  const Seeds seeds = read_seeds(options, folder.path());
  if (options.index < 0) return run_all(options, seeds);
  const std::filesystem::path file =
      options.keep.empty() ? folder.path() / "case" : std::filesystem::path(options.keep);
  write_file(file, case_bytes(seeds, options.index));
  const bool taken = run_case(file, is_of_database(options.index), folder.path() / "scratch");
  fmt::print("case {}: {}\n", options.index, taken ? "taken" : "refused");
  return 0;
}
