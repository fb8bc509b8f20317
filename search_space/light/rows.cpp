// Rows and columns of a warp.
#include "search_space/light/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/source_text.h"

namespace warpwright::light {

RowCut::RowCut(const Rows& rows, int64_t vector, int64_t threads, int64_t splits)
    : in_lanes(rows.inner == 1), vector(vector), splits(splits) {
  if (in_lanes) {
    parts = std::min<int64_t>(32, power_of_two_above(rows.length));
    lanes = parts / vector;
    items = rows.outer;
  } else {
    items = rows.outer * (rows.inner / vector);
  }
  rounds = ceil_div(rows.length, parts);
  slots = threads / (lanes * splits);
}

std::vector<int64_t> row_vectors(const Rows& rows) {
  return powers_of_two(1, common_power_of_two(4, rows.inner == 1 ? rows.length : rows.inner));
}

std::string row_constants(const RowCut& cut, const Rows& rows, int64_t batch) {
  return SourceConstants()
      .add("Vector", cut.vector)
      .add("Parts", cut.parts)
      .add("Lanes", cut.lanes)
      .add("Rounds", cut.rounds)
      .add("Items", cut.items)
      .add("Splits", cut.splits)
      .add("Slots", cut.slots)
      .add("Length", rows.length)
      .add("Inner", rows.inner)
      .add("InLanes", cut.in_lanes)
      .add("Batch", batch)
      .add("Step", cut.parts * rows.inner)  // elements from round to round
      .add("Whole", rows.length % (cut.parts * batch * cut.splits) == 0)
      .text();
}

std::string row_place_text(const RowCut& cut) {
  const char* start = cut.in_lanes ? "item * kLength + lane * kVector"
                                   : "item / (kInner / kVector) * (kLength * kInner) + "
                                     "item % (kInner / kVector) * kVector";
  return fmt::format(R"(
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const int slot = group % kSlots, split = group / kSlots, item = blockIdx.x * kSlots + slot;
  const bool is_item = kItems % kSlots == 0 || item < kItems;
  const int start = {};
  auto is_there = [&](int round) {{
    return is_item && (kWhole || (kInLanes ? round * kParts + lane * kVector : round) < kLength);
  }};
  auto place_of = [&](int round) {{
    const int real = kWhole ? round : min(round, kRounds - 1);
    return is_there(real) ? start + real * kStep : 0;
  }};
)",
                     start);
}

std::string_view merge_parts_source() {
  return R"(
template <typename T>
__device__ __forceinline__ T exchanged(T value, int distance) {
  return __shfl_xor_sync(0xffffffffu, value, distance);
}
// Parts p and p + distance, for distance = kParts / 2, ..., 1; partners exchange crosswise.
template <typename Part, typename Merge>
__device__ __forceinline__ void merge_parts(Part (&parts)[kVector], Merge merge) {
  if constexpr (kInLanes) {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) parts[i] = merge(parts[i], exchanged(parts[i], distance));
    }
#pragma unroll
    for (int distance = kVector / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < distance; ++i) parts[i] = merge(parts[i], parts[i + distance]);
    }
#pragma unroll
    for (int i = 1; i < kVector; ++i) parts[i] = parts[0];
  }
}
)";
}

std::string_view real_parts_source() {
  return R"(
__device__ __forceinline__ void sum_parts(float (&parts)[kVector]) {
  merge_parts(parts, [](float a, float b) { return __fadd_rn(a, b); });
}
__device__ __forceinline__ void largest_parts(float (&parts)[kVector]) {
  merge_parts(parts, [](float a, float b) { return largest(a, b); });
}
)";
}

}  // namespace warpwright::light
