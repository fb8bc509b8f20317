// The arithmetic of one real_gemm kernel: every number that constraints, emitter, packing and features need.
#pragma once

#include <span>

#include "search_space/kernel_family.h"

namespace warpwright::real_gemm {

inline constexpr char kName[] = "real_gemm";
inline constexpr int kSpaceVersion = 1;

/// How an operand comes into shared memory.
enum class Source {
  packed,   // a constant in tiles as they will lie: one linear copy
  rows,     // its rows are neighbours in memory along k: transposed on the way, float by float
  columns,  // its columns are neighbours in memory: pixels of an image, or a matrix [K][N]
};

/// The Workload as a matrix product y[m][n] = a[m][k] * b[k][n] of each matrix (group of a convolution), without knobs.
struct Shape {
  explicit Shape(const Workload& workload);

  int64_t matrices = 1;  // groups of a convolution
  int64_t rows = 0;      // M: output channels of a group
  int64_t columns = 0;   // N: output pixels of all images
  int64_t depth = 0;     // K
  int64_t taps = 1;
  int64_t fresh_taps = 1;  // about as many of a pixel's taps are no other pixel's of the tile
  Source a = Source::packed, b = Source::columns;
  int64_t copy_vector = 1;   // floats of `columns` that lie aligned
  int64_t store_vector = 1;  // outputs along n that lie aligned
  bool convolution = true;
  bool may_leave_image = false;
  bool bias = false;
};

struct Knobs {
  int64_t thread_m = 1, thread_n = 1, lanes_m = 1, warps_m = 1, warps_n = 1;
  int64_t tile_k = 8, run_k = 1, stages = 1, async = 0, unroll = 4, run_n = 1, columns_first = 0, ctas_per_sm = 1;
};
Knobs knobs_of(const Config& config);
Knobs knobs_of(std::span<const int64_t> values);
Config config_of(const Knobs& knobs);

/// One operand's tile of K under Knobs. In shared memory (k, row) is float (k / run_k * stride + row) * run_k + k %
/// run_k.
struct OperandTile {
  int64_t stride = 0;      // rows, padding included
  int64_t units = 0;       // vectors side by side
  int64_t unit_loads = 0;  // of a thread side by side
  int64_t lanes = 0;       // threads side by side
  int64_t step = 0;   // rows of the tile that all threads copy at once: of k, or of m or n where the source is rows
  int64_t loads = 0;  // times a thread copies
  int64_t words = 1;  // floats of a copy
  int64_t bytes = 0;  // in shared memory

  int64_t copies() const { return unit_loads * loads; }
};

/// A Shape under Knobs.
struct Plan : Knobs {
  Plan(const Shape& shape, const Knobs& knobs);

  const Shape shape;
  int64_t threads, lanes_n, threads_m, threads_n, tile_m, tile_n, m_tiles, n_tiles, ctas;
  int64_t k_tiles, tail;  // tail: what of K the last tile holds, 0 when all of it
  int64_t run_m;          // rows of a thread side by side
  int64_t store_lanes;
  OperandTile a, b;
  int64_t stage_bytes, smem_bytes;
  int64_t registers;  // estimate, a thread
};

/// What keeps a Plan from being legal, without text; `legal` is none.
enum class Flaw {
  legal,
  threads,
  tile,
  outputs,
  run,
  stages,
  unroll,
  limits,
  copies,
  code_size,
  rows,
  columns,
  k_tile,
  columns_first,
  grid
};
Flaw flaw_of(const Plan& plan, const Target& target);

std::optional<std::string> why_unsupported(const Workload& workload);
Space make_space(const Workload& workload, const Target& target);
Config choose_default(const Workload& workload, const Target& target);
std::vector<Config> choose_seeds(const Workload& workload, const Target& target);
Resources resources_of(const Plan& plan);
KernelSource emit_kernel(const Workload& workload, const Config& config);
Tensor pack_argument(const Workload& workload, const Plan& plan, const std::string& argument, const Values& values);

}  // namespace warpwright::real_gemm
