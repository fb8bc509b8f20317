// Rows: how light kernels walk through tensors as [outer, length, inner], in the order that the law of the float32
// kinds gives to sums.
//
// Where inner is 1, the 32 parts of a row belong to neighbouring lanes of a warp, `vector` of them to each, so that a
// lane loads vectors and a warp has `vector` rows at once. Rows of fewer elements have fewer parts: those without
// elements change nothing. Elsewhere a lane has `vector` neighbouring columns, each a part by itself.
// A lane goes through its row or columns in rounds of one vector each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/workload.h"

namespace warpwright::light {

/// How the threads of a CTA share rows, or vectors of columns: the items.
struct RowCut {
  RowCut(const Rows& rows, int64_t vector, int64_t threads, int64_t splits = 1);

  bool in_lanes = false;  // the parts of an item belong to several lanes
  int64_t vector = 1;
  int64_t parts = 1;  // elements of a row that its lanes take in a round
  int64_t lanes = 1;  // an item
  int64_t rounds = 1, items = 1;
  int64_t splits = 1;  // groups of lanes that share the rounds of an item
  int64_t slots = 1;   // items a CTA; 0: the threads do not suffice for one
};

/// Vectors of 4-byte elements that are aligned wherever a lane starts.
std::vector<int64_t> row_vectors(const Rows& rows);

/// Constants of the cut; `batch` rounds are loaded at once. kWhole: all loads of a batch lie in the row.
std::string row_constants(const RowCut& cut, const Rows& rows, int64_t batch);

/// Statements: item, lane, split, slot; is_item: whether there is such an item (no thread leaves: the lanes of a warp
/// exchange parts); start: the lane's first element; is_there(round); place_of(round): that round's vector, or
/// some other vector of the tensor.
std::string row_place_text(const RowCut& cut);

/// Device functions, behind the constants: exchanged(value, distance) of lanes; merge_parts(parts, merge): what the
/// parts of an item give together, in each of them and in all of its lanes.
std::string_view merge_parts_source();
/// sum_parts(parts) and largest_parts(parts) of float, behind merge_parts_source and real_source.
std::string_view real_parts_source();

}  // namespace warpwright::light
