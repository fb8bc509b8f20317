// CTAs in an order that the seed permutes, over host threads.
#include "src/device/virtual/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "src/core/core_count.h"
#include "src/device/virtual/checks.h"
#include "src/device/virtual/cta_runner.h"
#include "src/device/virtual/fault.h"

namespace warpwright::virtual_gpu {
namespace {

// CTAs that take turns. More show more, and keep more state; as many fit a small card.
constexpr uint64_t kMostResident = 16;

// The n-th CTA to run: i -> (i * step + start) mod n with step coprime to n, so that every CTA has its turn once.
class Order {
 public:
  Order(uint64_t count, uint64_t seed) : count_(count) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    const auto next = [&] {
      state ^= state >> 29;
      state *= 0xbf58476d1ce4e5b9u;
      return state ^= state >> 32;
    };
    start_ = next() % count;
    step_ = 1 + next() % count;
    while (std::gcd(step_, count) != 1) ++step_;
  }
  uint64_t at(uint64_t i) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(i) * step_ + start_) % count_);
  }

 private:
  uint64_t count_, start_ = 0, step_ = 1;
};

class GridRun {
 public:
  GridRun(const Grid& grid, const LaunchOptions& options)
      : grid_(grid),
        options_(options),
        count_(uint64_t{grid.shape.grid[0]} * grid.shape.grid[1] * grid.shape.grid[2]),
        order_(count_, options.seed),
        first_fault_(count_) {}

  Outcome run() {
    if (options_.checked && communicates(grid_.code->kernel)) {
      run_by_turns();
      return outcome();
    }
    uint64_t jobs = options_.jobs > 0 ? static_cast<uint64_t>(options_.jobs) : static_cast<uint64_t>(core_count());
    jobs = std::clamp<uint64_t>(jobs, 1, std::max<uint64_t>(1, count_ / 2));
    std::vector<std::jthread> threads;
    for (uint64_t i = 1; i < jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    threads.clear();
    return outcome();
  }

 private:
  struct Resident {
    std::unique_ptr<Checks> checks;
    std::unique_ptr<CtaRunner> runner;
    uint64_t place = 0;  // in the order
  };

  Outcome outcome() const {
    Outcome out;
    out.kind = OutcomeKind::ok;
    if (first_fault_ < count_) {
      out.kind = fault_.kind;
      out.message = fault_.message;
    }
    out.log = warning_;
    return out;
  }

  // CTAs that communicate: some of the grid at a time, on this thread alone, by turns that the seed decides, so that
  // what they see of each other depends on nothing else.
  void run_by_turns() {
    GridOrder order;
    std::vector<Resident> residents(std::min<uint64_t>(count_, kMostResident));
    for (Resident& each : residents) {
      each.checks = std::make_unique<Checks>(grid_, options_.number, marks_mutex_, &order);
      each.runner = std::make_unique<CtaRunner>(grid_, each.checks.get(), nullptr, true);
      each.place = next_++;
      each.runner->start(order_.at(each.place));
    }
    std::mt19937_64 random(options_.seed);
    uint64_t spent = 0;
    while (!residents.empty()) {
      Resident& now = residents[random() % residents.size()];
      try {
        spent += now.runner->turn(options_.instruction_limit - spent);
      } catch (Fault& fault) {
        if (fault.kind == OutcomeKind::run_timeout && next_ < count_) {
          fault.message +=
              fmt::format("; {} CTAs of the grid had no turn yet, which others may wait for", count_ - next_.load());
        }
        record(now.place, fault);
        return;
      }
      if (!now.runner->is_done()) continue;
      if (next_ < count_) {
        now.place = next_++;
        now.runner->start(order_.at(now.place));
        continue;
      }
      keep_warning(*now.checks);
      std::swap(now, residents.back());
      residents.pop_back();
    }
  }

  void keep_warning(const Checks& checks) {
    const std::lock_guard lock(mutex_);
    if (!checks.warning().empty() && (warning_.empty() || checks.warning() < warning_)) warning_ = checks.warning();
  }

  void work() {
    std::unique_ptr<Checks> checks;
    if (options_.checked) checks = std::make_unique<Checks>(grid_, options_.number, marks_mutex_, nullptr);
    CtaRunner runner(grid_, checks.get(), nullptr);
    while (true) {
      const uint64_t i = next_.fetch_add(1);
      if (i >= count_ || i > first_fault_.load()) break;
      const uint64_t spent = spent_.load();
      if (spent >= options_.instruction_limit) {
        record(i, {OutcomeKind::run_timeout, "the limit of instructions is used up"});
        break;
      }
      try {
        spent_ += runner.run(order_.at(i), options_.instruction_limit - spent);
      } catch (const Fault& fault) {
        record(i, fault);
      }
    }
    if (checks != nullptr) keep_warning(*checks);
  }

  // Keeps the fault that comes first in the order, whatever the threads' speed.
  void record(uint64_t i, const Fault& fault) {
    const std::lock_guard lock(mutex_);
    if (i >= first_fault_.load()) return;
    first_fault_ = i;
    fault_ = fault;
  }

  const Grid& grid_;
  const LaunchOptions& options_;
  uint64_t count_;
  Order order_;
  std::atomic<uint64_t> next_{0}, spent_{0}, first_fault_;
  std::mutex mutex_, marks_mutex_;
  Fault fault_{OutcomeKind::infrastructure, {}};
  std::string warning_;
};

}  // namespace

Outcome run_grid(const Grid& grid, const LaunchOptions& options) { return GridRun(grid, options).run(); }

}  // namespace warpwright::virtual_gpu
