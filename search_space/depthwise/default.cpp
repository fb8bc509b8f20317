// The default of depthwise: the best that a descent along the knobs finds by a compact formula of time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::depthwise {

namespace {

constexpr int64_t kSectorBytes = 32;
constexpr double kSpillCost = 1.5;
constexpr double kDramShare = 0.88;  // of the nominal bandwidth

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Workload& workload, const Plan& plan, const Target& target) {
  const double warps = std::ceil(static_cast<double>(plan.threads) / 32);
  const double outputs = static_cast<double>(plan.run_w * plan.run_h * plan.channels * plan.part);
  const double words = static_cast<double>(plan.channels) / 4;
  const bool staged = plan.staging != Staging::none;
  const double constants =
      static_cast<double>(plan.constant_loads()) *
      (static_cast<double>(workload.window.kernel_h * plan.row_vectors) * (plan.transposed ? words / 4 : 1) +
       2 * words);
  const double loads = static_cast<double>(plan.in_cols * plan.used_rows) * (staged ? 1 : 2 + words) + constants;
  const double copied = static_cast<double>(plan.tile_cols * plan.tile_rows * plan.tile_channels) /
                        static_cast<double>(plan.copy_vector * plan.threads);
  const double copies = staged ? std::ceil(copied) * (plan.staging == Staging::copies ? 14 : 18) : 0;
  const double issued = static_cast<double>(plan.products) + loads + copies + outputs * 7.5 + 60;
  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double all_warps = static_cast<double>(ctas_of_sm) * warps;
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  const double dot = all_warps * static_cast<double>(plan.products) * 0.5;
  const double conversion = all_warps * outputs * 2.5;
  // A rolled loop waits for the loads of every filter row; behind a barrier all warps of a CTA wait for the busiest
  // pipe.
  const double waits = plan.is_unrolled() ? 1.0 : static_cast<double>(workload.window.kernel_h);
  const double busiest =
      warps * std::max(issued * 0.25, std::max(static_cast<double>(plan.products) * 0.5, outputs * 2.5));
  const double alone = issued * 2 + (staged ? 0.5 * std::max(0.0, busiest - issued * 2) : 0);
  // The compiler asks for some 32 registers' worth of loads at a time.
  const double batches = (static_cast<double>(plan.constant_loads() * workload.window.kernel_h * plan.row_vectors) +
                          static_cast<double>(plan.in_cols * plan.used_rows)) *
                         words / 32;
  const double latency = rounds * (alone + 300 + 120 * batches + (staged ? 600 + 300 * waits : 400 + 450 * waits));
  // Memory moves whole sectors, and slices of a pixel may begin in the middle of one.
  const int64_t slice = plan.tile_channels;
  const int64_t aligned = common_power_of_two(kSectorBytes, workload.inputs[0].pixel_stride, slice);
  const double waste =
      plan.c_blocks == 1 ? 1 : 1 + static_cast<double>(kSectorBytes - aligned) / static_cast<double>(slice);
  const Resources resources = resources_of(workload, plan);
  const double l1 = static_cast<double>(resources.global_load_bytes) * waste / target.sm_count / 128;
  const int64_t tile_bytes = plan.tile_rows * plan.tile_cols * plan.tile_channels;
  const int64_t weight_bytes = workload.window.kernel_h * plan.row_vectors * plan.tile_channels;
  const double l2 = (static_cast<double>(plan.ctas * (tile_bytes + weight_bytes)) * waste +
                     static_cast<double>(resources.global_store_bytes) * waste) /
                    target.sm_count / 16;
  // Every CTA asks for its own halo; what L2 cannot hold is written to memory too.
  const double x_bytes = static_cast<double>(workload.inputs[0].buffer_bytes());
  const double y_bytes = static_cast<double>(workload.output.buffer_bytes());
  const double lost = std::max(0.0, 1 - static_cast<double>(target.l2_bytes) / (x_bytes + y_bytes));
  const double dram_bytes =
      std::min(static_cast<double>(plan.ctas * tile_bytes) * waste, x_bytes + y_bytes) + lost * y_bytes;
  const double dram = dram_bytes / (target.memory_gb_per_s * kDramShare * 1e3 / target.sm_clock_mhz);
  double sum = 0;
  for (const double bound : {dot, all_warps * issued * 0.25, conversion, latency, l1, l2, dram}) {
    sum += std::pow(bound, 4);
  }
  return std::pow(sum, 0.25);
}

/// The registers are an estimate; the compiler needs some more, or some less.
bool may_spill(const Plan& plan, const Target& target) {
  const int64_t most = target.registers_per_sm / (plan.ctas_per_sm(target) * round_up(plan.threads, 32));
  return plan.registers * 4 > std::min<int64_t>(most, target.max_registers_per_thread) * 3;
}

/// Looks for a cheaper Config along a few knobs at a time.
class Descent {
 public:
  Descent(const Workload& workload, const Target& target)
      : workload_(workload), target_(target), space_(make_space(workload, target)), best_(space_.point(0)) {}

  Config run() {
    vary({"channels", "block_c", "block_w", "block_h"});
    if (std::isinf(least_)) start_anywhere();
    for (int round = 0; round < 2; ++round) {
      vary({"channels", "run_w", "run_h", "row_order"});
      vary({"block_c", "block_w", "block_h"});
      vary({"transposed", "row_order", "constants_kept", "staging", "rows_first"});
    }
    return best_;
  }

 private:
  void start_anywhere() {
    std::mt19937_64 random(1);
    if (const std::optional<Config> any = space_.sample(random, 100000)) return look_at(*any);
    const std::vector<Config> first = space_.enumerate(1);
    if (first.empty()) throw InternalError("no default of depthwise for " + workload_.summary());
    look_at(first.front());
  }

  /// All values of these knobs together, the others as they are in the best so far.
  void vary(const std::vector<std::string>& names) {
    Config trial = best_;
    vary(trial, names, 0);
  }
  void vary(Config& trial, const std::vector<std::string>& names, size_t from) {
    if (from == names.size()) return look_at(trial);
    const auto is_it = [&](const Knob& knob) { return knob.name == names[from]; };
    const Knob& knob = *std::ranges::find_if(space_.knobs(), is_it);
    for (const int64_t value : knob.values) {
      trial.knobs.at(knob.name) = value;
      vary(trial, names, from + 1);
    }
  }

  /// With room for more registers where the estimate is close to what there is.
  void look_at(const Config& trial) {
    Plan plan(workload_, trial);
    plan.roomy = false;
    if (why_illegal(workload_, plan, target_)) return;
    plan.roomy = may_spill(plan, target_);
    if (plan.roomy && why_illegal(workload_, plan, target_)) plan.roomy = false;
    const double cost = cycles(workload_, plan, target_) * (may_spill(plan, target_) ? kSpillCost : 1);
    if (cost >= least_) return;
    best_ = trial, least_ = cost;
    best_.knobs.at("roomy") = plan.roomy ? 1 : 0;
  }

  const Workload& workload_;
  const Target& target_;
  const Space space_;
  Config best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Config choose_default(const Workload& workload, const Target& target) { return Descent(workload, target).run(); }

}  // namespace warpwright::depthwise
