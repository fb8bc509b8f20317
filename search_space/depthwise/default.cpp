// The default of depthwise: the best that a descent along the knobs finds by a compact formula of time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::depthwise {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kSectorBytes = 32;
constexpr double kSafePressure = 0.7, kSpillCost = 2.5;
// Of the virtual clock, docs/virtual_clock.md.
constexpr double kDramShare = 0.88;          // of the nominal bandwidth
constexpr double kMemoryQueueCycles = 2900;  // a round of CTAs
constexpr double kWriteBurstPart = 0.3;      // of L2, takes in writes at once
constexpr double kL2BytesPerClock = 17;      // an SM

/// Registers that a thread may have.
int64_t register_limit(const Plan& plan, const Target& target) {
  const int64_t warps_of_partition = ceil_div(plan.ctas_per_sm(target) * ceil_div(plan.threads, 32), 4);
  const int64_t file = target.registers_per_sm / 4 / (warps_of_partition * 32) / 8 * 8;
  return std::min<int64_t>(file, target.max_registers_per_thread);
}

/// Share of its registers that a thread needs. An estimate: from about 0.7 on it may spill.
double pressure(const Plan& plan, const Target& target) {
  return static_cast<double>(plan.registers) / static_cast<double>(register_limit(plan, target));
}

/// Time of one Config, roughly, without any measurement: pipes, latencies, waves and memory, in cycles.
class Estimate {
 public:
  Estimate(const Workload& workload, const Plan& plan, const Target& target)
      : workload_(workload),
        plan_(plan),
        target_(target),
        staged_(plan.staging != Staging::none),
        warps_(std::ceil(static_cast<double>(plan.threads) / 32)),
        outputs_(static_cast<double>(plan.run_w * plan.run_h * plan.channels * plan.part)),
        words_(static_cast<double>(plan.channels) / 4),
        ctas_of_sm_(static_cast<double>(ceil_div(plan.ctas, target.sm_count))),
        // Where there are more registers, the compiler takes them for loads ahead of their use.
        resident_(static_cast<double>(plan.ctas_per_sm(target))),
        rounds_(std::ceil(ctas_of_sm_ / resident_)) {
    count_instructions();
    count_memory();
  }

  double cycles() const {
    const double resident_warps = std::min(ctas_of_sm_, resident_) * warps_;
    const double all_warps = ctas_of_sm_ * warps_ * std::ceil(resident_warps / 4) * 4 / resident_warps;
    const double busiest = all_warps * std::max({busiest_pipe(), issued_ * 0.25, wavefronts_}) + write_burst();
    const double memory = std::max(l2_, dram_);
    const double latency = rounds_ * alone() + std::min(rounds_ * kMemoryQueueCycles, memory);
    double sum = 0;
    for (const double bound : {busiest, latency, l2_, dram_, static_cast<double>(plan_.ctas)}) {
      sum += std::pow(bound, 5);
    }
    return std::pow(sum, 0.2);
  }

 private:
  double conversion_cycles() const { return target_.compute_capability() >= 80 ? 1.25 : 2; }
  double busiest_pipe() const {
    return std::max(static_cast<double>(plan_.products) * 0.5, outputs_ * conversion_cycles());
  }

  /// Of one warp.
  void count_instructions() {
    const double vectors = static_cast<double>(workload_.window.kernel_h * plan_.row_vectors);
    const double constants =
        static_cast<double>(plan_.constant_loads()) * (vectors * (plan_.transposed ? words_ / 4 : 1) + 2 * words_);
    const double reads = static_cast<double>(plan_.in_cols * plan_.used_rows);
    const double copied = static_cast<double>(plan_.tile_cols * plan_.tile_rows * plan_.tile_channels) /
                          static_cast<double>(plan_.copy_vector * plan_.threads);
    const double copies = staged_ ? std::ceil(copied) : 0;
    issued_ = static_cast<double>(plan_.products) + reads * (staged_ ? 1 : 2 + words_) + constants +
              copies * (plan_.staging == Staging::copies ? 14 : 18) + outputs_ * 7.5 + 60;
    const double stores = outputs_ / static_cast<double>(plan_.store_lanes);
    wavefronts_ = reads * words_ * (staged_ ? 1.4 : 1) + copies * static_cast<double>(plan_.copy_vector) / 2 +
                  constants + stores * std::max(1.0, static_cast<double>(plan_.store_lanes) / 4);
    // The compiler asks for some 32 registers' worth of loads at a time.
    batches_ = (static_cast<double>(plan_.constant_loads()) * vectors + reads) * words_ / 32;
  }

  void count_memory() {
    // Memory moves whole sectors, and slices of a pixel may begin in the middle of one.
    const int64_t slice = plan_.tile_channels;
    const int64_t aligned = common_power_of_two(kSectorBytes, workload_.inputs[0].pixel_stride, slice);
    const double waste =
        plan_.c_blocks == 1 ? 1 : 1 + static_cast<double>(kSectorBytes - aligned) / static_cast<double>(slice);
    const auto tiles = static_cast<double>(plan_.ctas * plan_.tile_rows * plan_.tile_cols * plan_.tile_channels);
    const auto weights =
        static_cast<double>(plan_.ctas * workload_.window.kernel_h * plan_.row_vectors * plan_.tile_channels);
    const auto stored = static_cast<double>(resources_of(workload_, plan_).global_store_bytes);
    l2_ = (tiles + weights + stored) * waste / target_.sm_count / kL2BytesPerClock;
    // What L2 cannot hold is written to memory too, and the halos of CTAs come from there again.
    const auto x_bytes = static_cast<double>(workload_.inputs[0].buffer_bytes());
    const auto y_bytes = static_cast<double>(workload_.output.buffer_bytes());
    const double lost = std::max(0.0, 1 - static_cast<double>(target_.l2_bytes) / (x_bytes + y_bytes));
    written_ = lost * y_bytes;
    dram_ = dram_cycles(x_bytes + written_ + lost * std::max(0.0, tiles * waste - x_bytes) / 2);
  }

  double dram_cycles(double bytes) const {
    return bytes / (target_.memory_gb_per_s * kDramShare * 1e3 / target_.sm_clock_mhz);
  }

  /// CTAs of a round end together; what L2 does not take in at once is waited for.
  double write_burst() const {
    const double together = std::min(static_cast<double>(plan_.ctas), resident_ * target_.sm_count);
    const double burst = together * static_cast<double>(plan_.threads) * outputs_;
    const double taken_in = kWriteBurstPart * static_cast<double>(target_.l2_bytes);
    return burst > taken_in ? (1 - taken_in / burst) * dram_cycles(written_) : 0;
  }

  /// Of a CTA that has the SM for itself. A rolled loop waits for the loads of every filter row; behind a barrier all
  /// warps of a CTA wait for the busiest pipe.
  double alone() const {
    const double waits = plan_.is_unrolled() ? 1.0 : static_cast<double>(workload_.window.kernel_h);
    const double busiest = warps_ * std::max(issued_ * 0.25, busiest_pipe());
    const double own = issued_ * 2 + (staged_ ? 0.5 * std::max(0.0, busiest - issued_ * 2) : 0);
    return own + 300 + 120 * batches_ + (staged_ ? 600 + 300 * waits : 400 + 450 * waits);
  }

  const Workload& workload_;
  const Plan& plan_;
  const Target& target_;
  const bool staged_;
  const double warps_, outputs_, words_;  // of a CTA; of a thread
  const double ctas_of_sm_, resident_, rounds_;
  double issued_ = 0, wavefronts_ = 0, batches_ = 0;  // of a warp
  double l2_ = 0, dram_ = 0, written_ = 0;            // cycles, cycles, bytes
};

/// Looks for a cheaper Config along a few knobs at a time.
class Descent {
 public:
  Descent(const Workload& workload, const Target& target)
      : workload_(workload), target_(target), space_(make_space(workload, target)), best_(space_.point(0)) {}

  /// From threads of one pixel, from threads of long rows, and from the better of what these end in.
  Config run() {
    descend();
    const Config first = best_;
    const double least = least_;
    best_ = space_.point(0), least_ = kInfinity;
    best_.knobs.at("run_w") = knob("run_w").values.back();
    descend();
    if (least < least_) best_ = first, least_ = least;
    if (std::isinf(least_)) start_anywhere();
    improve();
    return best_;
  }

 private:
  void descend() {
    vary({"block_c", "block_w", "block_h"});
    if (!std::isinf(least_)) improve();
  }

  void improve() {
    vary({"run_h", "block_h", "row_order", "constants_kept"});
    vary({"channels", "run_w", "block_w"});
    vary({"channels", "run_w", "run_h", "row_order"});
    vary({"block_c", "block_w", "block_h"});
    vary({"transposed", "row_order", "constants_kept", "staging", "rows_first"});
  }

  void start_anywhere() {
    std::mt19937_64 random(1);
    if (const std::optional<Config> any = space_.sample(random, 100000)) return look_at(*any);
    const std::vector<Config> first = space_.enumerate(1);
    if (first.empty()) throw NoLegalConfig("depthwise", workload_, target_);
    look_at(first.front());
  }

  /// All values of these knobs together, the others as they are in the best so far.
  void vary(const std::vector<std::string>& names) {
    Config trial = best_;
    vary(trial, names, 0);
  }
  void vary(Config& trial, const std::vector<std::string>& names, size_t from) {
    if (from == names.size()) return look_at(trial);
    int64_t& value = trial.knobs.at(names[from]);
    for (const int64_t each : knob(names[from]).values) {
      value = each;
      vary(trial, names, from + 1);
    }
  }
  const Knob& knob(const std::string& name) const { return *std::ranges::find(space_.knobs(), name, &Knob::name); }

  /// With room for more registers, too, where the estimate is close to what there is.
  void look_at(const Config& trial) {
    if (!space_.may_be_legal(trial)) return;
    Plan plan(workload_, trial);
    plan.roomy = false;
    if (why_illegal(workload_, plan, target_)) return;
    weigh(trial, plan);
    if (pressure(plan, target_) <= kSafePressure) return;
    plan.roomy = true;
    if (!why_illegal(workload_, plan, target_)) weigh(trial, plan);
  }

  void weigh(const Config& trial, const Plan& plan) {
    const double excess = std::max(0.0, pressure(plan, target_) - kSafePressure);
    const double cost = Estimate(workload_, plan, target_).cycles() * (1 + kSpillCost * excess);
    if (cost >= least_) return;
    best_ = trial, least_ = cost;
    best_.knobs.at("roomy") = plan.roomy ? 1 : 0;
  }

  const Workload& workload_;
  const Target& target_;
  const Space space_;
  Config best_;
  double least_ = kInfinity;
};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) { return Descent(workload, target).run(); }

}  // namespace warpwright::depthwise
