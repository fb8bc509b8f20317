// The default of mma_stem: the best of a short list of its Configs by a compact formula of time.
#include <algorithm>
#include <cmath>

#include "search_space/arithmetic.h"
#include "search_space/mma_stem/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::mma_stem {

namespace {

/// Clocks in which one of the four tensor cores of an SM makes the products of a 16 x 8 x 32 step.
double step_clocks(const Target& target) {
  const int capability = target.compute_capability();
  return capability == 90 ? 4 : capability == 80 || capability == 87 ? 8 : 16;
}

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Workload& workload, const Plan& plan, const Target& target) {
  const double warps = static_cast<double>(plan.threads) / 32;
  const double row_tiles = static_cast<double>(plan.warp_m) / 16;
  const double column_tiles = static_cast<double>(plan.column_tiles());
  const double steps = static_cast<double>(plan.steps), passes = static_cast<double>(plan.passes);
  const bool held = plan.weights_in == WeightsIn::registers;
  const double columns = column_tiles + (workload.weight_zero_point == ZeroPointForm::zero ? 0 : 1);

  const double products = steps * row_tiles * columns;
  const double pixel_words = static_cast<double>(plan.groups) * row_tiles * 2;
  const double weight_vectors = held ? 0 : steps * column_tiles / 2;
  const double outputs = row_tiles * column_tiles * 4;
  const double stores = outputs / static_cast<double>(plan.store_lanes);
  const double pass_issued = products + pixel_words + weight_vectors + outputs * 9 + stores * 6 + 40;
  const double copies = static_cast<double>(plan.patch_loads) * 12 + 30;
  const int64_t start_vectors = held                                   ? plan.steps * plan.column_tiles() / 2
                                : plan.weights_in == WeightsIn::shared ? ceil_div(plan.weight_bytes / 16, plan.threads)
                                                                       : 0;
  const double start = static_cast<double>(start_vectors) * 3 + 120;
  const double tiles = static_cast<double>(std::min(plan.tiles, plan.all_tiles));
  const double issued = start + tiles * (passes * pass_issued + copies);

  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  const double all_warps = static_cast<double>(ctas_of_sm) * warps;
  const double wave_warps = std::min(all_warps, static_cast<double>(resident) * warps);

  const double tensor = all_warps * tiles * passes * products * step_clocks(target) / 4;
  const double issue = all_warps * issued / 4;
  const double convert = all_warps * tiles * passes * outputs * 2.5;
  const double shared = all_warps * tiles * (passes * (pixel_words + weight_vectors * 4) + copies / 12);
  const double own = products * step_clocks(target) + pass_issued * 2 + 60;  // a warp alone
  const double latency =
      rounds * (1100 + start * 2 + tiles * (passes * own + copies * 2 + (plan.async ? 60 : 350)) + 300);
  const Resources resources = resources_of(workload, plan);
  const double l2 =
      static_cast<double>(resources.global_load_bytes + resources.global_store_bytes) / target.sm_count / 16;
  const double few = wave_warps < 8 ? 1.1 : 1.0;
  double sum = 0;
  for (const double bound : {tensor, issue, convert, shared, latency, l2}) sum += std::pow(bound * few, 4);
  return std::pow(sum, 0.25);
}

/// Flat taps where they save a step; rows of whole groups have constant addresses and no bank conflicts.
bool flat_taps_save(const Window& window) {
  const int64_t rows = window.kernel_h * round_up(window.kernel_w, kGroupTaps);
  return ceil_div(window.kernel_h * window.kernel_w, kStepTaps) < ceil_div(rows, kStepTaps);
}

/// The knobs that decide most; the others at their usual values.
Space short_space(const Workload& workload, const Target& target) {
  const bool has_ampere = target.compute_capability() >= 80;
  const bool flat = flat_taps_save(workload.window);
  const Space whole = make_space(workload, target);
  std::vector<Knob> knobs = whole.knobs();
  for (Knob& knob : knobs) {
    if (knob.name == "instruction") knob.values = {has_ampere ? 32 : 16};
    if (knob.name == "flat_taps") knob.values = {flat ? 1 : 0};
    if (knob.name == "async") knob.values = {has_ampere ? 1 : 0};
    if (knob.name == "ctas_per_sm") knob.values = {1};
    if (knob.name == "warp_m") knob.values = {16, 32};
    if (knob.name == "weights_in") knob.values = {0, 2};
    if (knob.name == "tiles") knob.values = {1, 4};
    // Four lanes store 16 channels: half a sector.
    if (knob.name == "warp_n" && knob.values.size() > 1) knob.values.erase(knob.values.begin());
  }
  return Space(
      kName, kSpaceVersion, std::move(knobs),
      [workload, target](const Config& config) { return why_illegal(workload, Plan(workload, config), target); },
      quick_check(workload));
}

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Space space = short_space(workload, target);
  std::optional<Config> best =
      space.cheapest([&](const Config& config) { return cycles(workload, Plan(workload, config), target); });
  if (!best) throw NoLegalConfig("mma_stem", workload, target);
  return *best;
}

}  // namespace warpwright::mma_stem
