// Rows that lanes hold, or read again.
#include "search_space/light/row_family.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"

namespace warpwright::light {

namespace {

constexpr int64_t kMostHeld = 64;      // elements a lane
constexpr int64_t kMostInFlight = 32;  // the same where it does not hold all

RowCut cut_of(const Workload& workload, const Config& config) {
  return {workload.rows, config.at("vector"), config.at("threads")};
}

// Where a lane has no vector left it loads another one: without branches all loads of a batch go out at once.
constexpr std::string_view kBatches = R"(
  constexpr int kLoaded = kBatch < kRounds ? kBatch : kRounds;
  constexpr bool kHeld = kLoaded == kRounds;
  float x[kLoaded][kVector];
  auto load = [&](int first) {
#pragma unroll
    for (int r = 0; r < kLoaded; ++r) {
      load_vector(x[r], x0 + place_of(first + r));
    }
  };
  if constexpr (kHeld) load(0);
  auto for_each_batch = [&](auto use) {
    if constexpr (kHeld) {
      use(0);
    } else {
#pragma unroll 1
      for (int first = 0; first < kRounds; first += kLoaded) {
        load(first);
        use(first);
      }
    }
  };
)";

}  // namespace

std::vector<Knob> RowFamily::own_knobs(const Workload& workload) const {
  const RowCut narrowest(workload.rows, 1, 32);
  return {{"vector", row_vectors(workload.rows)},
          {"held", powers_of_two(1, std::min(kMostHeld, power_of_two_above(narrowest.rounds)))}};
}

std::optional<std::string> RowFamily::why_useless(const Workload& workload, const Config& config) const {
  const RowCut cut = cut_of(workload, config);
  const int64_t held = config.at("held");
  if (held * cut.vector > kMostHeld) return fmt::format("{} vectors of {} are too many to hold", held, cut.vector);
  if (held > power_of_two_above(cut.rounds)) return fmt::format("{} of {} vectors", held, cut.rounds);
  if (held < cut.rounds && held * cut.vector > kMostInFlight) {
    return fmt::format("{} vectors of {} are too many to wait for", held, cut.vector);
  }
  return std::nullopt;
}

// Vectors as wide as lanes can hold all of; the widest where they cannot.
std::vector<Config> RowFamily::preferences(const Workload& workload) const {
  std::vector<Config> holding, reading;
  const auto prefer = [&](int64_t vector, int64_t threads) {
    const int64_t all = power_of_two_above(RowCut(workload.rows, vector, threads).rounds);
    const bool holds = all * vector <= kMostHeld;
    const int64_t held = holds ? all : kMostInFlight / vector;
    (holds ? holding : reading).push_back(config({{"vector", vector}, {"held", held}, {"threads", threads}}));
  };
  std::vector<int64_t> vectors = row_vectors(workload.rows);
  std::reverse(vectors.begin(), vectors.end());
  for (const int64_t vector : vectors) {
    for (const int64_t threads : {256, 128, 64}) prefer(vector, threads);
  }
  prefer(1, 32);
  return holding.empty() ? reading : holding;
}

LightPlan RowFamily::plan(const Workload& workload, const Config& config) const {
  const RowCut cut = cut_of(workload, config);
  const int64_t loaded = std::min(config.at("held"), cut.rounds);
  LightPlan plan;
  plan.threads = config.at("threads");
  plan.items = cut.items;
  plan.items_per_cta = cut.slots;
  plan.registers = 32 + cut.vector * (loaded + 4);
  plan.load_bytes = workload.inputs[0].buffer_bytes() * (loaded == cut.rounds ? 1 : passes());
  plan.load_bytes += constant_bytes(workload);
  plan.store_bytes = workload.output.buffer_bytes();
  return plan;
}

LightFamily::Body RowFamily::body(const Workload& workload, const Config& config, const LightPlan&) const {
  const RowCut cut = cut_of(workload, config);
  Body body;
  body.functions = row_constants(cut, workload.rows, config.at("held"));
  body.functions.append(real_source()).append(merge_parts_source()).append(real_parts_source());
  body.functions += functions(workload);
  body.statements = row_place_text(cut) + std::string(kBatches) + statements(workload);
  return body;
}

}  // namespace warpwright::light
