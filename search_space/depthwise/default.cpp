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

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Workload& workload, const Plan& plan, const Target& target) {
  const double warps = std::ceil(static_cast<double>(plan.threads) / 32);
  const double outputs = static_cast<double>(plan.run_w * plan.run_h * plan.channels * plan.part);
  const double words = static_cast<double>(plan.channels) / 4;
  const int64_t times = plan.constants_kept || plan.run_h == 1 ? 1 : plan.run_h;
  const bool staged = plan.staging != Staging::none;
  const double constants =
      static_cast<double>(times) *
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
  // A rolled loop waits for the loads of every filter row.
  const double waits = plan.is_unrolled() ? 1.0 : static_cast<double>(workload.window.kernel_h);
  const double latency = rounds * (issued * 2 + 300 + (staged ? 900 : 300 + 450 * waits));
  // Lanes side by side read neighbouring channels; memory moves whole sectors.
  const bool whole_pixels = plan.c_blocks == 1;
  const int64_t side_by_side = std::min<int64_t>(32, plan.block_c) * plan.channels;
  const double waste =
      whole_pixels ? 1 : static_cast<double>(round_up(side_by_side, kSectorBytes)) / static_cast<double>(side_by_side);
  const Resources resources = resources_of(workload, plan);
  const double l1 = static_cast<double>(resources.global_load_bytes) * waste / target.sm_count / 128;
  const int64_t tile_bytes = plan.tile_rows * plan.tile_cols * plan.tile_channels;
  const int64_t weight_bytes = workload.window.kernel_h * plan.row_vectors * plan.tile_channels;
  const double l2 = (static_cast<double>(plan.ctas * (tile_bytes + weight_bytes)) * waste +
                     static_cast<double>(resources.global_store_bytes) * waste) /
                    target.sm_count / 16;
  double sum = 0;
  for (const double bound : {dot, all_warps * issued * 0.25, conversion, latency, l1, l2}) sum += std::pow(bound, 4);
  return std::pow(sum, 0.25);
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
    const std::optional<Config> any = space_.sample(random, 1000000);
    if (!any) throw InternalError("no default of depthwise for " + workload_.summary());
    look_at(*any);
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

  void look_at(const Config& trial) {
    const Plan plan(workload_, trial);
    if (why_illegal(workload_, plan, target_)) return;
    const double cost = cycles(workload_, plan, target_);
    if (cost < least_) best_ = trial, least_ = cost;
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
