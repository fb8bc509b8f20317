// The default of dp4a_gemm: the best of a short list of Configs by a compact formula of time.
#include <algorithm>
#include <array>
#include <cmath>

#include "search_space/arithmetic.h"
#include "search_space/dp4a_gemm/plan.h"
#include "search_space/no_legal_config.h"
#include "search_space/source_text.h"

namespace warpwright::dp4a_gemm {

namespace {

/// How the threads of a CTA share its tile.
struct Arrangement {
  int64_t thread_m, thread_n, lanes_m, lanes_n, warps_m, warps_n, warps_k;
};

/// Cycles of one streaming multiprocessor, roughly: pipes, latencies and waves, without any measurement.
double cycles(const Plan& plan, const Target& target, bool has_zero_point) {
  const double warps = static_cast<double>(plan.threads) / 32;
  const double products =
      static_cast<double>(plan.chunks * (plan.thread_m * plan.thread_n + (has_zero_point ? plan.thread_m : 0)) * 4);
  const double fragments = static_cast<double>(plan.chunks * (plan.thread_m + plan.thread_n));
  const double copies = static_cast<double>(plan.x_loads * 8 + (plan.direct_weights ? 0 : plan.weight_loads * 3) + 20);
  const double steps = static_cast<double>(plan.k_tiles);
  const double outputs = static_cast<double>(plan.tile_m * plan.tile_n) / static_cast<double>(plan.threads);
  const double epilogue =
      outputs * 12 + (plan.staged_epilogue ? static_cast<double>(plan.thread_m * plan.thread_n) * 0.5 +
                                                 outputs * static_cast<double>(plan.slices) * 0.5 + 60
                                           : 0);
  const double prologue = 60.0 + static_cast<double>(plan.x_loads * 30);
  const double issued = steps * (products + fragments + copies) + epilogue + prologue;

  const int64_t resident = resident_ctas(plan.registers, plan.threads, plan.smem_bytes, target);
  const int64_t ctas_of_sm = ceil_div(plan.ctas, target.sm_count);
  const double rounds = static_cast<double>(ceil_div(ctas_of_sm, resident));
  const double all_warps = static_cast<double>(ctas_of_sm) * warps;

  const double dot = all_warps * steps * products * 0.5;
  const double issue = all_warps * issued * 0.25;
  const double shared = all_warps * steps * fragments * 2 + all_warps * steps * copies * 0.5;
  const double load_latency = 550, step_latency = plan.stages == 2 ? 90 : 130;
  const double hidden = (products + fragments) * 2;
  const double exposed = std::max(0.0, load_latency - hidden) + step_latency;
  const double latency = rounds * (issued * 2 + load_latency + steps * exposed + 600);
  const Resources resources = resources_of(plan);
  const double l2 =
      static_cast<double>(resources.global_load_bytes + resources.global_store_bytes) / target.sm_count / 16;
  double sum = 0;
  for (const double bound : {dot, issue, shared, latency, l2}) sum += std::pow(bound, 4);
  return std::pow(sum, 0.25);
}

constexpr std::array<std::array<int64_t, 2>, 8> kThreadTiles = {
    {{1, 1}, {1, 2}, {1, 4}, {2, 4}, {4, 4}, {4, 8}, {8, 4}, {8, 8}}};
constexpr std::array<std::array<int64_t, 2>, 12> kLanes = {
    {{1, 1}, {1, 2}, {1, 4}, {1, 8}, {1, 32}, {2, 4}, {2, 8}, {4, 4}, {4, 8}, {8, 2}, {8, 4}, {16, 2}}};
constexpr std::array<std::array<int64_t, 3>, 10> kWarps = {
    {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {4, 2, 1}, {1, 1, 2}, {1, 1, 4}, {1, 1, 8}, {2, 2, 2}, {2, 1, 2}}};

std::vector<Arrangement> arrangements() {
  std::vector<Arrangement> all;
  for (const auto& [thread_m, thread_n] : kThreadTiles) {
    for (const auto& [lanes_m, lanes_n] : kLanes) {
      for (const auto& [warps_m, warps_n, warps_k] : kWarps) {
        all.push_back({thread_m, thread_n, lanes_m, lanes_n, warps_m, warps_n, warps_k});
      }
    }
  }
  return all;
}

/// Cheap tests that the constraints would fail too, so that few Configs are made at all.
bool is_worth_a_look(const Arrangement& shape, int64_t tile_k, bool direct, const Shape& product) {
  const int64_t lanes = shape.lanes_m * shape.lanes_n;
  if (lanes > 32 || tile_k % (kChunkBytes * (32 / lanes) * shape.warps_k) != 0) return false;
  if (direct && shape.lanes_m * shape.warps_m > 4) return false;
  return shape.thread_m * shape.lanes_m * shape.warps_m <= power_of_two_above(product.rows) &&
         shape.thread_n * shape.lanes_n * shape.warps_n <=
             std::max<int64_t>(4, power_of_two_above(product.stored_columns));
}

Config config_of(const Arrangement& shape, int64_t tile_k, int64_t vector, int64_t stages, bool direct, bool staged) {
  Config config{kName, kSpaceVersion, {}};
  config.knobs = {{"thread_m", shape.thread_m},
                  {"thread_n", shape.thread_n},
                  {"lanes_m", shape.lanes_m},
                  {"lanes_n", shape.lanes_n},
                  {"warps_m", shape.warps_m},
                  {"warps_n", shape.warps_n},
                  {"warps_k", shape.warps_k},
                  {"tile_k", tile_k},
                  {"vector", vector},
                  {"stages", stages},
                  {"unroll", 1},
                  {"direct_weights", direct},
                  {"staged_epilogue", staged},
                  {"columns_first", 0},
                  {"padded_rows", 0}};
  return config;
}

}  // namespace

Config choose_default(const Workload& workload, const Target& target) {
  const Space space = make_space(workload, target);
  const Shape product(workload);
  const int64_t vector = product.widest_vector;
  const bool has_zero_point = workload.weight_zero_point != ZeroPointForm::zero;
  std::optional<Config> best;
  double best_cycles = 0;
  for (const Arrangement& arrangement : arrangements()) {
    const bool slices = arrangement.lanes_m * arrangement.lanes_n < 32 || arrangement.warps_k > 1;
    for (const int64_t tile_k : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
      for (const bool direct : {false, true}) {
        if (!is_worth_a_look(arrangement, tile_k, direct, product)) continue;
        for (const int64_t stages : {2, 1}) {
          Config config = config_of(arrangement, tile_k, vector, stages, direct, slices || arrangement.thread_n < 4);
          if (space.why_illegal(config)) continue;
          const double time = cycles(Plan(workload, config), target, has_zero_point);
          if (!best || time < best_cycles) best = config, best_cycles = time;
        }
      }
    }
  }
  if (!best) throw NoLegalConfig("dp4a_gemm", workload, target);
  for (const int64_t unroll : {4, 2}) {
    Config unrolled = *best;
    unrolled.knobs["unroll"] = unroll;
    if (space.why_illegal(unrolled)) continue;
    best = unrolled;
    break;
  }
  Config padded = *best;
  padded.knobs["padded_rows"] = 1;
  return space.why_illegal(padded) ? *best : padded;
}

}  // namespace warpwright::dp4a_gemm
