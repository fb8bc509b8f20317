// What the families for products with few rows share: the shape, and the text that fetches rows and stores results.
//
// The reduction (K) runs over the filter's taps and, innermost, the channels, padded to 16 bytes: each 16 bytes of a
// row lie in one tap. A kernel holds whole rows, or whole slices of them, in shared memory, or reads them where they
// lie.
#pragma once

#include <optional>
#include <string>

#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright::few_rows {

inline constexpr int64_t kVectorBytes = 16;
inline constexpr int64_t kMostRows = 64;

/// The Workload as a matrix product, without any knob.
struct Shape {
  explicit Shape(const Workload& workload);

  int64_t rows = 0;            // M: output pixels
  int64_t columns = 0;         // N: output channels
  int64_t stored_columns = 0;  // N with the pad lanes of an output pixel
  int64_t channels = 0;        // of the input
  int64_t lane_channels = 0;   // the same padded to 16
  int64_t taps = 1;
  int64_t reduction = 0;       // bytes of K: taps * lane_channels
  int64_t widest_vector = 16;  // bytes of x that lie aligned; 1: byte by byte
  bool plain = false;          // row m of the product is pixel m of the input
  bool readable = false;       // plain, in aligned vectors of 16 bytes: threads may read x where it lies
};

/// nullopt, or why no kernel that holds at least `held_rows` whole rows takes the Workload.
std::optional<std::string> why_unsupported(const Workload& workload, const Target& target, int64_t held_rows);

/// How one kernel cuts the product.
struct Cut {
  int64_t threads = 0, tile_m = 0, tile_n = 0, m_tiles = 0, n_tiles = 0;
  int64_t parts = 1;          // partial sums of an output, added in shared memory
  int64_t x_bytes = 0;        // of each row in shared memory, a multiple of 16; 0: x is read where it lies
  int64_t x_row_bytes = 0;    // from row to row there
  int64_t store_lanes = 1;    // output channels that a thread stores at once
  int64_t reduce_stride = 0;  // words from row to row of the partial sums
};

/// Bytes that the partial sums of a CTA take.
int64_t partial_sum_bytes(const Cut& cut);
/// Output channels that a thread stores at once where the threads share the tile evenly.
int64_t store_lanes(const Workload& workload, const Shape& shape, int64_t tile_m, int64_t tile_n, int64_t threads);

/// Constants of shape and cut for the texts below, and for finish_source.
std::string constants(const Workload& workload, const Shape& shape, const Cut& cut);
/// kWeightZeroPoint, and the type of an offset into the `weight_bytes` that one warp walks through.
std::string switches(const Workload& workload, int64_t weight_bytes);

// Text of a kernel's body, in this order. It needs m_tile, n_tile and `smem`.
extern const char* const kTilesText;  // m_tile and n_tile of blockIdx.x, neighbours share weights
// load_weights(to, step): weights of kDepth steps from `weights_from` on, kWeightVectors of 16 bytes a lane and step.
extern const char* const kLoadWeightsText;
extern const char* const kRowVectorText;  // row_vector(words, m, k): 16 bytes of row m from byte k of K on
extern const char* const kStageRowsText;  // stage_rows(to, first): all rows from byte `first` on into shared memory
// After finish_source, the int32 sums of each part being in shared memory at `parts`:
extern const char* const kSumOfPartsText;   // a barrier; for_each_unit(each), sum_of_parts, finish_unit of a unit
extern const char* const kFinishPartsText;  // all of the tile

/// Weights of output channel `channel` at bytes `first` to `first + 15` of K, with its zero point where K has no tap
/// or the channel is none (-1).
void copy_weights(const Workload& workload, const Shape& shape, const Values& values, int64_t channel, int64_t first,
                  std::byte* to);

}  // namespace warpwright::few_rows
