// What the interpreter counts of a launch and the clock turns into a time. No other contact between the two.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace warpwright {

/// Issue pipes of a streaming multiprocessor, by which warp instructions are counted after folding (see folding.h).
enum class Pipe {
  integer,     // add, logic, compare, select, shift, prmt, lop3
  multiply,    // integer mul and mad
  dot,         // dp4a
  floating,    // f32 add, mul, fma, min, max
  conversion,  // cvt between integer and float, and rounding
  special,     // reciprocal, division and square root sequences
  shared,      // ld/st.shared, atomics on shared
  global,      // ld/st.global, ld.global.nc, atomics
  local,       // ld/st.local (spills)
  constant,    // ld.param, ld.const
  shuffle,     // shfl, vote, match, redux
  control,     // bra, ret, exit
  barrier,     // bar, membar, and what waits for copies
  tensor,      // mma
};
inline constexpr size_t kPipeCount = 14;

/// Requests of warps to global memory.
struct GlobalRequests {
  uint64_t count = 0;
  uint64_t narrow = 0;   // of lanes that ask for less than 16 bytes
  uint64_t partial = 0;  // that touch a sector without asking for all of it
  uint64_t sectors = 0;  // of 32 bytes, over all requests
};

/// Counts of one sampled CTA.
struct CtaProfile {
  std::array<uint64_t, kPipeCount> issued{};  // warp instructions by Pipe
  uint64_t turing_products = 0;               // multiply-adds by m8n8k16
  uint64_t ampere_products = 0;               // by m16n8k16 and m16n8k32
  uint64_t shared_wavefronts = 0;             // bank-conflict replays included, ldmatrix and cp.async too
  uint64_t shared_wavefronts_ideal = 0;       // without conflicts
  uint64_t matrix_conflicts = 0;              // wavefronts of ldmatrix beyond the ideal
  uint64_t copy_conflicts = 0;                // of what cp.async writes
  GlobalRequests loads, stores;               // atomics are stores
  GlobalRequests copies;                      // reads of cp.async.cg, past L1; those of .ca are loads
  uint64_t barriers = 0;                      // met by the CTA
  uint64_t longest_warp_issued = 0;           // of the warp that issues most
  uint64_t load_waits = 0;                    // of that warp: batches of global loads (see load_batches) it waits for
  uint64_t shared_waits = 0;                  // of that warp: the same for batches of shared loads
  uint64_t load_wait_distance = 0;            // of that warp: issued between a batch's last load and its wait, summed
  uint64_t shared_wait_distance = 0;          // of that warp: the same for shared_waits
  // Of that warp: for each wait for a group of cp.async, what was issued between its commit and the wait.
  std::vector<uint64_t> copy_wait_distances;
  std::vector<uint64_t> read_sectors;  // distinct sector numbers (address / 32), sorted
  std::vector<uint64_t> written_sectors;
  double weight = 1;  // how many CTAs of the grid it stands for
};

struct LaunchProfile {
  std::vector<CtaProfile> sampled;  // stratified: interior, each border, tail
  uint64_t ctas = 0;
  uint32_t threads_per_cta = 0;
  int registers_per_thread = 0;          // from the cubin's report
  int64_t smem_bytes_per_cta = 0;        // static and dynamic
  uint64_t read_footprint_bytes = 0;     // of the buffers that the sampled CTAs read
  uint64_t written_footprint_bytes = 0;  // and of those that they write
  // Of CTAs one behind the other, from the middle of the grid: the part of their reads that none before them in the
  // stretch has made, judged, buffer by buffer, by their first reads (up to a barrier). Empty: not known.
  std::vector<double> fresh_reads;
  int spill_store_bytes = 0;  // a thread, static, from the cubin's report: PTX does not show spills
  int spill_load_bytes = 0;
  uint64_t static_issued = 0;  // of the kernel's text, see total_slots in folding.h
};

}  // namespace warpwright
