// Children that read inputs one after the other, and the parent that watches them.
#include "tests/fuzz/harness/supervisor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <thread>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "tests/fuzz/harness/memory_bound.h"
#include "tests/fuzz/harness/run_state.h"

namespace warpwright::testing {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kHangExit = 99;
constexpr int64_t kInputsOfAChild = 20'000;  // then a fresh one: what leaks or grows does not add up

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What a child tells its parent; lies in memory that both share.
struct Progress {
  std::atomic<int64_t> index;  // in work, or the next
  std::atomic<int64_t> started_ms;
  std::atomic<bool> done;
  int64_t taken;
  double cpu_seconds, slowest_seconds;
  int64_t slowest_index, most_bytes, most_bytes_index;
  char message[2000];  // of an exception that ended the child
};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

/// Where input number `index` comes from: makes it at `path`.
using Source = std::function<void(int64_t index, const std::filesystem::path& path)>;

/// One child after the other over [next, end), each in a folder of its own.
class Job {
 public:
  Job(const Subject& subject, const Bounds& bounds, Source source, std::filesystem::path failures, int64_t next,
      int64_t end)
      : subject_(subject),
        bounds_(bounds),
        source_(std::move(source)),
        failures_(std::move(failures)),
        begin_(next),
        next_(next),
        end_(end) {
    void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw EnvironmentError("no shared memory");
    progress_ = new (shared) Progress{};
    progress_->slowest_index = progress_->most_bytes_index = -1;
    subject_.prepare_folder(folder_.path());
  }
  ~Job() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    munmap(progress_, sizeof(Progress));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// False when all is read.
  bool poll() {
    if (child_ < 0) {
      if (next_ >= end_) return false;
      start();
      return true;
    }
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) {
      child_ = -1;
      end_child(status, false);
    } else if (now_ms() - progress_->started_ms > static_cast<int64_t>(1000 * bounds_.wall_seconds)) {
      kill(child_, SIGKILL);
      waitpid(child_, &status, 0);
      child_ = -1;
      end_child(status, true);
    }
    return child_ > 0 || next_ < end_;
  }

  /// As of now.
  void add_to(FuzzReport& report) const {
    const int64_t taken = progress_->taken, at = next();
    report.taken += taken;
    report.refused += at - begin_ - taken - std::ssize(findings_);
    if (at < end_) report.left.emplace_back(at, end_);
    report.cpu_seconds += progress_->cpu_seconds;
    report.findings.insert(report.findings.end(), findings_.begin(), findings_.end());
    if (progress_->slowest_seconds > report.slowest_seconds) {
      report.slowest_seconds = progress_->slowest_seconds;
      report.slowest_index = progress_->slowest_index;
    }
    if (progress_->most_bytes > report.most_bytes) {
      report.most_bytes = progress_->most_bytes;
      report.most_bytes_index = progress_->most_bytes_index;
    }
  }

 private:
  /// The first that is not read to its end.
  int64_t next() const { return child_ > 0 ? progress_->index.load() : next_; }
  std::filesystem::path input() const { return folder_.path() / subject_.file_name(); }
  std::filesystem::path log() const { return folder_.path() / "log"; }

  void start() {
    progress_->index = next_;
    progress_->started_ms = now_ms();
    progress_->done = false;
    progress_->message[0] = 0;
    child_ = fork();
    if (child_ < 0) throw EnvironmentError("fork failed");
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log_file = ::open(log().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(log_file, STDERR_FILENO);
      const rlimit no_core{0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      _exit(read_inputs());
    }
  }

  /// In the child. 0: all read, or enough for one child.
  int read_inputs() {
    std::signal(SIGPROF, [](int) { _exit(kHangExit); });
    bound_memory(bounds_.bytes);
    const int64_t last = std::min(end_, next_ + kInputsOfAChild);
    for (int64_t index = next_; index < last; ++index) {
      progress_->index = index;
      progress_->started_ms = now_ms();
      if (!read_one(index)) return 1;
    }
    progress_->index = last;
    progress_->done = true;
    return 0;
  }

  bool read_one(int64_t index) {
    const double begin_all = cpu_seconds();
    source_(index, input());
    const auto whole = static_cast<time_t>(bounds_.cpu_seconds);
    const itimerval limit{{0, 0}, {whole, static_cast<suseconds_t>((bounds_.cpu_seconds - double(whole)) * 1e6)}};
    const itimerval none{};
    take_peak_bytes();
    setitimer(ITIMER_PROF, &limit, nullptr);
    const double begin = cpu_seconds();
    bool refused = false;
    try {
      subject_.read(input());
    } catch (const UsageError&) {
      refused = true;
    } catch (const EnvironmentError&) {
      refused = true;
    } catch (const std::bad_alloc&) {
      std::strcpy(progress_->message, "memory bound: std::bad_alloc");
      return false;
    } catch (const std::exception& error) {
      std::strncpy(progress_->message, error.what(), sizeof progress_->message - 1);
      if (!progress_->message[0]) std::strcpy(progress_->message, "an exception without text");
      return false;
    }
    const double seconds = cpu_seconds() - begin;
    setitimer(ITIMER_PROF, &none, nullptr);
    if (!refused) ++progress_->taken;
    progress_->cpu_seconds += cpu_seconds() - begin_all;
    if (seconds > progress_->slowest_seconds) {
      progress_->slowest_seconds = seconds;
      progress_->slowest_index = index;
    }
    if (const int64_t bytes = take_peak_bytes(); bytes > progress_->most_bytes) {
      progress_->most_bytes = bytes;
      progress_->most_bytes_index = index;
    }
    return true;
  }

  void end_child(int status, bool waited_too_long) {
    next_ = progress_->index;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && progress_->done) return;
    std::string text = progress_->message[0] ? progress_->message : read_log();
    std::string verdict = progress_->message[0] ? "exception" : "crash";
    if (waited_too_long || (WIFEXITED(status) && WEXITSTATUS(status) == kHangExit)) {
      verdict = "hang", text = "the bound in time was reached";
    } else if (text.find("memory bound:") != std::string::npos || text.find("exceeds maximum") != std::string::npos) {
      verdict = "memory";
    } else if (WIFSIGNALED(status)) {
      text = fmt::format("signal {}\n", WTERMSIG(status)) + text;
    }
    if (!failures_.empty()) {
      const auto name = fmt::format("{}-{}-{}", verdict, next_, subject_.file_name());
      std::filesystem::copy_file(input(), failures_ / name, std::filesystem::copy_options::overwrite_existing);
      std::ofstream(failures_ / (name + ".log")) << text;
    }
    findings_.push_back({next_, verdict, text});
    ++next_;
  }

  std::string read_log() const {
    std::string text = std::filesystem::exists(log()) ? read_file(log()) : "";
    if (text.size() > 20'000) text.resize(20'000);
    return text;
  }

  const Subject& subject_;
  const Bounds bounds_;
  const Source source_;
  const std::filesystem::path failures_;
  TemporaryFolder folder_{"warpwright-fuzz"};
  Progress* progress_ = nullptr;
  pid_t child_ = -1;
  const int64_t begin_;
  int64_t next_;
  const int64_t end_;
  std::vector<Finding> findings_;
};

/// What came of the jobs up to now, on top of `earlier`.
FuzzReport report_of(const std::vector<std::unique_ptr<Job>>& jobs, const FuzzReport& earlier) {
  FuzzReport report = earlier;
  report.left.clear();
  for (const auto& job : jobs) job->add_to(report);
  std::sort(report.findings.begin(), report.findings.end(),
            [](const Finding& a, const Finding& b) { return a.index < b.index; });
  return report;
}

/// Tells `keep` every 10 seconds how far it has come.
FuzzReport supervise(const std::vector<std::unique_ptr<Job>>& jobs, const FuzzReport& earlier,
                     const std::function<void(const FuzzReport&)>& keep) {
  auto kept = Clock::now();
  for (bool busy = true; busy;) {
    busy = false;
    for (const auto& job : jobs) busy |= job->poll();
    if (busy) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (Clock::now() - kept > std::chrono::seconds(10)) {
      kept = Clock::now();
      keep(report_of(jobs, earlier));
    }
  }
  FuzzReport report = report_of(jobs, earlier);
  keep(report);
  return report;
}

/// About as many a job.
std::vector<Range> shares(int64_t first, int64_t count, int64_t jobs) {
  std::vector<Range> ranges;
  for (int64_t job = 0; job < jobs; ++job) {
    ranges.emplace_back(first + count * job / jobs, first + count * (job + 1) / jobs);
  }
  return ranges;
}

}  // namespace

uint64_t mutant_seed(uint64_t seed, int64_t index) {
  return std::stoull(key_hex(fmt::format("mutant {}/{}", seed, index)).substr(0, 16), nullptr, 16);
}

FuzzReport fuzz(const Subject& subject, const FuzzOptions& options) {
  if (!options.failures.empty()) std::filesystem::create_directories(options.failures);
  const Source source = [&](int64_t index, const std::filesystem::path& path) {
    subject.write_mutant(mutant_seed(options.seed, index), path);
  };
  const bool has_state = !options.state.empty();
  FuzzReport earlier;
  earlier.left = shares(options.first, options.count, options.jobs);
  if (has_state && std::filesystem::exists(options.state)) {
    earlier = read_state(options.state, subject.name(), options.seed);
  }
  std::vector<std::unique_ptr<Job>> jobs;
  for (const auto& [begin, end] : earlier.left) {
    jobs.push_back(std::make_unique<Job>(subject, options.bounds, source, options.failures, begin, end));
  }
  return supervise(jobs, earlier, [&](const FuzzReport& report) {
    if (has_state) write_state(options.state, subject.name(), options.seed, report);
  });
}

FuzzReport read_files(const Subject& subject, const std::vector<std::filesystem::path>& files, const Bounds& bounds) {
  const Source source = [&](int64_t index, const std::filesystem::path& path) {
    std::filesystem::copy_file(files[static_cast<size_t>(index)], path,
                               std::filesystem::copy_options::overwrite_existing);
  };
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(
      std::make_unique<Job>(subject, bounds, source, std::filesystem::path(), 0, static_cast<int64_t>(files.size())));
  return supervise(jobs, {}, [](const FuzzReport&) {});
}

}  // namespace warpwright::testing
