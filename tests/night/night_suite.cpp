// A night in small: thousands of trials with 2 % injected faults of every kind, to its end.
//
//   night_suite TRIALS [stand-in] [calm]
//
// On the virtual device with the real compiler; with `stand-in` compiler and device cost no time, which leaves the
// engine. `calm`: without faults, to see what goes to neither compiling nor measuring. That is told by shares that a
// busy machine changes little: of processor time, the parent's; of the workers' time, what they waited for the next
// trial; of the trials' time, what neither compiled, verified nor ran. Fails unless the run ends by itself, every
// record has the outcome that was drawn for it, and processes, descriptors and memory of the parent are flat.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include "src/core/error.h"
#include "src/core/file.h"
#include "tests/night/drawn_fault.h"
#include "tests/night/night.h"

using namespace warpwright;

namespace {

constexpr int64_t kReportInterval = 250;
constexpr double kMostGrowth_mb = 64;  // of the parent, from a fifth of the night to its end: what it has learnt

size_t open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

size_t children() {
  size_t count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "children");
    for (int child = 0; file >> child;) ++count;
  }
  return count;
}

/// Of this process, or of its children that have ended.
double processor_s(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Flatness {
  double mb_early = 0, mb_late = 0;
  size_t files_early = 0, files_most = 0, children_most = 0;

  void note(int64_t trials, int64_t all) {
    const size_t files = open_files();
    if (trials <= std::max(all / 5, kReportInterval)) {
      mb_early = resident_mb();
      files_early = std::max(files_early, files);
    }
    mb_late = resident_mb();
    files_most = std::max(files_most, files);
    children_most = std::max(children_most, children());
  }
};

/// Records whose outcome is not the drawn one; prints the counts.
int64_t wrong_records(const std::string& path) {
  const auto database = open_database(path, OpenMode::read_only);
  std::map<std::string, std::pair<int64_t, int64_t>> counts;  // drawn, as drawn
  std::map<int64_t, Record> last;                             // by trial: after all its tries
  for (Record& record : database->run_records(1)) {
    if (!is_transient(record.outcome.kind) || !last.contains(record.trial_index)) {
      last[record.trial_index] = std::move(record);
    }
  }
  int64_t wrong = 0;
  for (const auto& [index, record] : last) {
    const auto fault = drawn_fault(record.source_hash);
    const OutcomeKind expected = fault ? fault->outcome : OutcomeKind::ok;
    auto& [drawn, as_drawn] = counts[fault ? fault->name : "none"];
    ++drawn;
    if (record.outcome.kind == expected) {
      ++as_drawn;
    } else {
      ++wrong;
      fmt::print("trial {}: drawn {}, outcome {}: {}\n", index, fault ? fault->name : "none", name(record.outcome.kind),
                 record.outcome.message.substr(0, 200));
    }
  }
  fmt::print("fault           drawn  outcome as drawn\n");
  for (const auto& [fault, count] : counts) fmt::print("{:<14}  {:>5}  {:>5}\n", fault, count.first, count.second);
  return wrong;
}

int run(int argc, char** argv) {
  const int64_t trials = std::stoll(argv[1]);
  const std::set<std::string> words(argv + 2, argv + argc);
  const bool is_stand_in = words.contains("stand-in");
  const TemporaryFolder folder("warpwright-night");
  setenv(kNightFolderVariable, folder.path().c_str(), 1);
  if (is_stand_in) setenv(kNightStandInVariable, "1", 1);
  if (words.contains("calm")) setenv(kNightCalmVariable, "1", 1);
  NightOptions options;
  options.worker = WARPWRIGHT_FAULTY_WORKER;
  options.database = (folder.path() / "night.db").string();
  options.trials = trials;
  options.compile_timeout_s = options.run_timeout_s = is_stand_in ? 10 : 30;
  Flatness flatness;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  fmt::print("trials  seconds  parent MB  descriptors  workers\n");
  const TuneSummary summary = run_night(options, [&](const TuneSummary& now) {
    if (now.trials % kReportInterval != 0) return;
    flatness.note(now.trials, trials);
    fmt::print("{:>6}  {:>7.1f}  {:>9.1f}  {:>11}  {:>7}\n", now.trials, elapsed(), resident_mb(), open_files(),
               children());
    std::fflush(stdout);
  });
  const double busy = summary.seconds.compile + summary.seconds.verify + summary.seconds.run;
  fmt::print("ended: {} after {} trials and {:.1f} s; compile {:.1f} s, verify {:.1f} s, run {:.1f} s, idle {:.1f} s\n",
             summary.end_reason, summary.trials, elapsed(), summary.seconds.compile, summary.seconds.verify,
             summary.seconds.run, summary.idle_seconds);
  const double parent_s = processor_s(RUSAGE_SELF), workers_s = processor_s(RUSAGE_CHILDREN);
  fmt::print("parent: {:.1f} s of {:.1f} s of processor time, {:.2f} %\n", parent_s, parent_s + workers_s,
             100 * parent_s / (parent_s + workers_s));
  fmt::print("workers that wait for a trial: {:.2f} % of their time\n",
             100 * summary.idle_seconds / summary.wall_seconds);
  fmt::print("trials beside compiling, verifying and running: {:.2f} % of their time\n",
             100 * (1 - busy / summary.seconds.wall));
  const int64_t wrong = wrong_records(options.database);
  const bool is_flat = flatness.files_most <= flatness.files_early + 2 &&
                       flatness.mb_late <= flatness.mb_early + kMostGrowth_mb &&
                       flatness.children_most <= static_cast<size_t>(options.jobs) + 1 && children() == 0;
  const bool is_right = summary.end_reason == "trials" && summary.trials == trials && wrong == 0 && is_flat;
  fmt::print("{} records with another outcome than drawn; memory, descriptors and processes {}\n{}\n", wrong,
             is_flat ? "flat" : "NOT FLAT", is_right ? "passed" : "FAILED");
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: night_suite TRIALS [stand-in] [calm]\n");
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "night_suite: {}\n", error.what());
    return 1;
  }
}
