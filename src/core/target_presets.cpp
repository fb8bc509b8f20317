// The known cards and the constants of the virtual clock, as tables.
#include <algorithm>
#include <array>

#include "src/core/error.h"
#include "src/core/target.h"

namespace warpwright {
namespace {

constexpr size_t kArchCount = 7;
constexpr std::array<int, kArchCount> kArchs = {75, 80, 86, 87, 89, 90, 120};

struct TimingRow {
  const char* name;
  std::array<double, kArchCount> value;  // in the order of kArchs
  const char* source;
};

constexpr const char* kGuide = "CUDA C++ Programming Guide, throughput of arithmetic instructions";
// docs/benchmarks/2026-12-01-clock-against-silicon.md
constexpr const char* kConvolutions =
    "sm_86: fitted to 195 measured CUTLASS INT8 convolutions on an RTX 3070; others: taken over, in proportion";
constexpr const char* kHopperPaper =
    "microbenchmarks of arXiv 2402.13499 (sm_80, 89, 90) and arXiv 1903.07486 (sm_75); "
    "sm_86, 87, 120: estimate from the neighbours";

// Lanes are thread operations a clock of one SM.
const TimingRow kTiming[] = {
    {"issue_warps_per_clock",
     {4, 4, 4, 4, 4, 4, 4},
     "four schedulers an SM, one warp instruction each: architecture white papers"},
    {"integer_lanes", {64, 64, 64, 64, 64, 64, 64}, kGuide},
    {"integer_movable",
     {0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3},
     "part of the integer instructions (additions, moves, shifts) that ptxas writes as IMAD when that pipe is free; "
     "estimate from disassembled kernels"},
    {"multiply_lanes",
     {64, 64, 64, 64, 64, 64, 64},
     "integer mul, mad and dp4a share one half of the FMA pipe: programming guide for mul and mad; dp4a at the same "
     "rate is an estimate"},
    {"turing_products_per_clock",
     {1024, 1843, 922, 1843, 922, 2286, 922},
     "INT8 multiply-adds an SM by m8n8k16; sm_75: white paper; from sm_80 0.9 of ampere_products_per_clock, fitted to "
     "measured CUTLASS INT8 convolutions on an RTX 3070"},
    {"ampere_products_per_clock",
     {1024, 2048, 1024, 2048, 1024, 2540, 1024},
     "the same by m16n8k32 (not on sm_75): dense rates of the white papers; sm_90: mma.sync reaches 62% of wgmma, "
     "arXiv "
     "2402.13499"},
    {"floating_lanes", {64, 64, 128, 128, 128, 128, 128}, kGuide},
    {"conversion_lanes",
     {16, 25.6, 25.6, 25.6, 25.6, 25.6, 25.6},
     "16 a clock on the special unit; from sm_80 integer to float at 64: harmonic mean of one each; estimate"},
    {"special_lanes", {16, 16, 16, 16, 16, 16, 16}, kGuide},
    {"lsu_lanes", {16, 32, 32, 32, 32, 32, 32}, "sm_75: 16 load/store units, white paper; others: estimate"},
    {"shuffle_lanes", {32, 32, 32, 32, 32, 32, 32}, kGuide},
    {"control_lanes", {64, 64, 64, 64, 64, 64, 64}, "estimate"},
    {"shared_bytes_per_clock",
     {48, 96, 96, 96, 96, 96, 96},
     "0.75 of the width (GA102 white paper: 128 bytes a clock an SM, Turing 64), fitted to measured CUTLASS INT8 "
     "convolutions on an RTX 3070"},
    {"l1_bytes_per_clock", {64, 128, 128, 128, 128, 128, 128}, "unified with shared memory: as shared_bytes_per_clock"},
    {"l1_bytes",
     {98304, 196608, 131072, 196608, 131072, 262144, 131072},
     "architecture white papers: L1 and shared memory of an SM together"},
    {"l1_far_reuse",
     {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
     "part of the repeated loads that comes later than L1 can hold; estimate"},
    {"sm_l2_bytes_per_clock",
     {64, 64, 64, 64, 64, 64, 64},
     "one 64-byte return a clock an SM: A100 white paper; others: estimate"},
    {"l2_bytes_per_clock_per_sm",
     {20, 47, 21.2, 24, 16, 28, 16},
     "sm_86: fitted to measured CUTLASS INT8 convolutions on an RTX 3070; sm_75: arXiv 1903.07486; sm_80: white paper, "
     "5120 bytes a clock; sm_90: chipsandcheese.com, H100; sm_89: about 5 "
     "TB/s on an RTX 4090, estimate; others: estimate"},
    {"dram_efficiency",
     {0.88, 0.88, 0.88, 0.88, 0.88, 0.88, 0.88},
     "device-to-device copy of an H200: 4.3 TB/s of 4.9; others: estimate"},
    {"shared_latency_cycles", {19, 29, 30, 30, 30, 29, 30}, kHopperPaper},
    {"l1_latency_cycles", {32, 38, 40, 40, 43, 41, 43}, kHopperPaper},
    {"l2_latency_cycles", {188, 262, 262, 262, 273, 263, 290}, kHopperPaper},
    {"dram_latency_cycles", {616, 466, 520, 600, 542, 479, 600}, kHopperPaper},
    {"warp_issue_cycles",
     {2, 2, 2, 2, 2, 2, 2},
     "clocks between two instructions of one warp: 4 to 5 when dependent, 1 when not; estimate"},
    {"barrier_cycles", {30, 30, 30, 30, 30, 30, 30}, "estimate"},
    {"local_stall_cycles", {4, 4, 4, 4, 4, 4, 4}, "part of the L1 latency that a spilling warp stands; estimate"},
    {"cta_start_cycles", {300, 300, 300, 300, 300, 300, 300}, "parameters and first instruction fetch; estimate"},
    {"cta_starts_per_clock", {1, 1, 1, 1, 1, 1, 1}, "of the whole card; estimate"},
    {"memory_queue_cycles", {2900, 2900, 2900, 2900, 2900, 2900, 2900}, kConvolutions},
    {"write_burst_part", {0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, kConvolutions},
    {"launch_us", {2.5, 2.2, 2.2, 4.0, 2.2, 2.2, 2.2}, "an empty kernel between two events; estimate"},
    {"overlap_exponent", {7, 7, 7, 7, 7, 7, 7}, kConvolutions},
    {"register_granularity",
     {256, 256, 256, 256, 256, 256, 256},
     "cuda_occupancy.h: registers a warp is given at once"},
    {"shared_granularity", {256, 128, 128, 128, 128, 128, 128}, "cuda_occupancy.h"},
    {"shared_reserved_bytes", {0, 1024, 1024, 1024, 1024, 1024, 1024}, "Ampere tuning guide: 1 KB of every CTA"},
};

/// What all cards of an architecture share: cuda_occupancy.h and the programming guide.
struct ArchLimits {
  int compute_capability;
  int64_t smem_per_block_bytes, smem_per_sm_bytes;
  int max_warps_per_sm, max_ctas_per_sm;
};

constexpr ArchLimits kLimits[] = {
    {75, 64 << 10, 64 << 10, 32, 16},   {80, 163 << 10, 164 << 10, 64, 32}, {86, 99 << 10, 100 << 10, 48, 16},
    {87, 163 << 10, 164 << 10, 48, 16}, {89, 99 << 10, 100 << 10, 48, 24},  {90, 227 << 10, 228 << 10, 64, 32},
    {120, 99 << 10, 100 << 10, 48, 24},
};

struct Card {
  const char* name;
  const char* device_name;
  int compute_capability, sm_count, l2_mb, memory_bus_bits;
  double sm_clock_mhz, memory_gb_per_s;
};

// Clocks and bandwidths as the driver's attributes give them.
constexpr Card kCards[] = {
    {"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 72, 384, 2520, 1008.1},
    {"rtx4080", "NVIDIA GeForce RTX 4080", 89, 76, 64, 256, 2505, 716.9},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 6, 384, 1695, 936.1},
    {"rtx3070", "NVIDIA GeForce RTX 3070", 86, 46, 4, 256, 1725, 448.1},
    {"a100", "NVIDIA A100-SXM4-40GB", 80, 108, 40, 5120, 1410, 1555.2},
    {"a4000", "NVIDIA RTX A4000", 86, 48, 4, 256, 1560, 448.1},
    {"a6000", "NVIDIA RTX A6000", 86, 84, 6, 384, 1800, 768.1},
    {"l4", "NVIDIA L4", 89, 58, 48, 192, 2040, 300.0},
    {"l40s", "NVIDIA L40S", 89, 142, 96, 384, 2520, 864.1},
    {"t4", "Tesla T4", 75, 40, 4, 256, 1590, 320.1},
    {"orin", "Orin", 87, 16, 4, 256, 1300, 204.8},
    {"h100", "NVIDIA H100 80GB HBM3", 90, 132, 50, 5120, 1980, 3352.3},
    {"h200", "NVIDIA H200", 90, 132, 60, 6144, 1980, 4916.7},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 120, 170, 96, 512, 2407, 1792.1},
};

Target preset_of(const Card& card) {
  const auto* limits = std::ranges::find(kLimits, card.compute_capability, &ArchLimits::compute_capability);
  Target target;
  target.name = card.name;
  target.device_name = card.device_name;
  target.compute_major = card.compute_capability / 10;
  target.compute_minor = card.compute_capability % 10;
  target.sm_count = card.sm_count;
  target.smem_per_block_bytes = limits->smem_per_block_bytes;
  target.smem_per_sm_bytes = limits->smem_per_sm_bytes;
  target.max_warps_per_sm = limits->max_warps_per_sm;
  target.max_ctas_per_sm = limits->max_ctas_per_sm;
  target.l2_bytes = int64_t{card.l2_mb} << 20;
  target.memory_bus_bits = card.memory_bus_bits;
  target.sm_clock_mhz = card.sm_clock_mhz;
  target.memory_gb_per_s = card.memory_gb_per_s;
  target.timing = default_timing(card.compute_capability);
  return target;
}

}  // namespace

Json default_timing(int compute_capability) {
  const auto above = std::ranges::upper_bound(kArchs, compute_capability);
  if (above == kArchs.begin()) {
    throw UsageError("no clock constants for compute capability " + std::to_string(compute_capability / 10) + "." +
                     std::to_string(compute_capability % 10) + ": 7.5 is the lowest that is supported");
  }
  const size_t arch = static_cast<size_t>(above - kArchs.begin()) - 1;
  Json timing = Json::object();
  for (const TimingRow& row : kTiming) {
    timing[row.name] = Json{{"value", row.value[arch]}, {"source", row.source}};
  }
  return timing;
}

const std::vector<Target>& target_presets() {
  static const std::vector<Target> presets = [] {
    std::vector<Target> made;
    for (const Card& card : kCards) made.push_back(preset_of(card));
    return made;
  }();
  return presets;
}

const Target& target_preset(std::string_view name) {
  std::string known;
  for (const Target& preset : target_presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  throw UsageError("unknown target `" + std::string(name) + "`: the presets are " + known +
                   "; any other card is given as a JSON file");
}

}  // namespace warpwright
