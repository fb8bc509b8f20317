// Family reduce: rows and columns as light/rows.h cuts them. Where the order is free, `splits` groups of lanes share an
// item and meet in shared memory.
#include "search_space/reduce/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/light/real_family.h"
#include "search_space/light/rows.h"
#include "search_space/reduce/operations.h"
#include "search_space/source_text.h"

namespace warpwright {

namespace {

using namespace light;
using namespace reduction;

constexpr int64_t kMostSplits = 16;
constexpr int64_t kMostInFlight = 32;  // elements a thread

RowCut cut_of(const Workload& workload, const Config& config) {
  return {workload.rows, config.at("vector"), config.at("threads"), config.at("splits")};
}

class ReduceFamily final : public RealFamily {
 public:
  ReduceFamily() : RealFamily("reduce", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::reduce) return "it is no reduce";
    return std::nullopt;
  }

  std::vector<Knob> own_knobs(const Workload& workload) const override {
    const Rows& rows = workload.rows;
    const int64_t most_splits =
        is_free_in_order(workload.reduction) ? std::min(kMostSplits, power_of_two_above(rows.length)) : 1;
    return {{"vector", row_vectors(rows)},
            {"splits", powers_of_two(1, most_splits)},
            {"in_flight", powers_of_two(1, std::min(kMostInFlight, power_of_two_above(rows.length)))}};
  }

  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override {
    const RowCut cut = cut_of(workload, config);
    if (cut.slots == 0) {
      return fmt::format("{} splits of {} lanes are more than {} threads", cut.splits, cut.lanes, config.at("threads"));
    }
    if (cut.splits > cut.rounds) return fmt::format("{} splits of {} rounds", cut.splits, cut.rounds);
    const int64_t each = ceil_div(cut.rounds, cut.splits), in_flight = config.at("in_flight");
    if (in_flight > power_of_two_above(each)) {
      return fmt::format("{} loads in flight of {} a thread", in_flight, each);
    }
    if (in_flight * cut.vector > kMostInFlight) {
      return fmt::format("{} vectors of {} in flight", in_flight, cut.vector);
    }
    return std::nullopt;
  }

  Config reduce_config(const Workload& workload, int64_t vector, int64_t splits, int64_t threads) const {
    const RowCut cut(workload.rows, vector, threads, splits);
    const int64_t in_flight = std::min(kMostInFlight / vector, power_of_two_above(ceil_div(cut.rounds, splits)));
    return config({{"vector", vector}, {"splits", splits}, {"in_flight", in_flight}, {"threads", threads}});
  }

  std::vector<Config> preferences(const Workload& workload) const override {
    std::vector<Config> list;
    const auto size = static_cast<int64_t>(size_bytes(workload.output.dtype));
    std::vector<int64_t> vectors = row_vectors(workload.rows);
    // Stores of 16 bytes: more would leave sectors half written.
    if (workload.rows.inner > 1) std::erase_if(vectors, [&](int64_t vector) { return vector * size > 16; });
    std::reverse(vectors.begin(), vectors.end());
    for (const int64_t vector : vectors) {
      for (const int64_t threads : {256, 128, 64}) list.push_back(reduce_config(workload, vector, 1, threads));
    }
    list.push_back(reduce_config(workload, 1, 1, 32));
    for (const int64_t splits : {2, 4, 8, 16}) list.push_back(reduce_config(workload, 1, splits, 32 * splits));
    return list;
  }

  LightPlan plan(const Workload& workload, const Config& config) const override {
    const RowCut cut = cut_of(workload, config);
    LightPlan plan;
    plan.threads = config.at("threads");
    plan.items = cut.items;
    plan.items_per_cta = std::max<int64_t>(1, cut.slots);
    const int64_t bytes = part_bytes(workload.reduction);
    plan.smem_bytes = cut.splits > 1 ? cut.slots * cut.splits * results(cut) * bytes : 0;
    plan.registers = 24 + cut.vector * (bytes / 2 + config.at("in_flight"));
    plan.load_bytes = workload.inputs[0].buffer_bytes();
    plan.store_bytes = workload.output.buffer_bytes();
    plan.smem_bytes_moved = 2 * plan.smem_bytes * plan.ctas();
    return plan;
  }

  /// Of an item.
  static int64_t results(const RowCut& cut) { return cut.in_lanes ? 1 : cut.vector; }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    return {input_argument(workload, 0), output_argument(workload)};
  }

  Body body(const Workload& workload, const Config& config, const LightPlan&) const override {
    const RowCut cut = cut_of(workload, config);
    Body body;
    body.functions = operations_source(workload) + row_constants(cut, workload.rows, config.at("in_flight"));
    body.functions += SourceConstants().add("Results", results(cut)).text();
    body.functions += merge_parts_source();
    body.statements = row_place_text(cut) + std::string(kTake);
    if (cut.splits > 1) body.statements += kMeet;
    body.statements += fmt::format(kStore, element_type(workload.output.dtype));
    return body;
  }

  // Where a lane has no vector left it loads another one: without branches all loads of a batch go out at once.
  static constexpr std::string_view kTake = R"(
  Part parts[kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) parts[i] = start_part();
#pragma unroll 1
  for (int first = split; first < kRounds; first += kBatch * kSplits) {
    X x[kBatch][kVector];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int round = first + k * kSplits;
      load_vector(x[k], x0 + place_of(round));
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int round = first + k * kSplits;
      if (is_there(round)) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          parts[i] = taken(parts[i], x[k][i], kInLanes ? round * kParts + lane * kVector + i : round);
        }
      }
    }
  }
  merge_parts(parts, [](Part a, Part b) { return merged(a, b); });
)";
  // Of what each group of lanes has.
  static constexpr std::string_view kMeet = R"(
  __shared__ Part partial[kResults * kSplits * kSlots];
  if (lane == 0) {
#pragma unroll
    for (int i = 0; i < kResults; ++i) partial[i * (kSplits * kSlots) + group] = parts[i];
  }
  __syncthreads();
  if (group < kSlots) {
#pragma unroll
    for (int i = 0; i < kResults; ++i) {
#pragma unroll
      for (int other = 1; other < kSplits; ++other) {
        parts[i] = merged(parts[i], partial[i * (kSplits * kSlots) + other * kSlots + slot]);
      }
    }
  }
)";
  static constexpr std::string_view kStore = R"(
  if (group < kSlots && lane == 0 && is_item) {{
    {} results[kResults];
#pragma unroll
    for (int i = 0; i < kResults; ++i) results[i] = finished(parts[i]);
    store_vector(y + item * kResults, results);
  }}
)";
};

}  // namespace

const KernelFamily& reduce_family() {
  static const ReduceFamily family;
  return family;
}

}  // namespace warpwright
