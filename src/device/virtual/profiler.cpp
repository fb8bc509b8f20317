// Counts instructions by pipe, wavefronts of shared memory, sectors of global memory, and waits for loads.
#include "src/device/virtual/profiler.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "src/device/virtual/async_copy.h"
#include "src/device/virtual/cta_runner.h"
#include "src/device/virtual/fault.h"
#include "src/device/virtual/global_memory.h"
#include "src/device/virtual/handlers.h"
#include "src/device/virtual/load_waits.h"
#include "src/device/virtual/old_contents.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::Opcode;
using ptx::Space;

constexpr uint64_t kSectorBytes = 32;

// Shared memory serves 32 banks of 4 bytes at a time. Lanes that ask for the same bytes are served together; 8-byte
// accesses go by 16 lanes, 16-byte ones by 8.
struct Wavefronts {
  uint64_t actual = 0, ideal = 0;
};

Wavefronts count_wavefronts(std::vector<uint64_t> asked, uint32_t bytes) {
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  const size_t group = bytes <= 4 ? 32 : 128 / bytes;
  Wavefronts out;
  for (size_t first = 0; first < asked.size(); first += group) {
    std::vector<uint64_t> words;
    for (size_t i = first; i < std::min(first + group, asked.size()); ++i) {
      for (uint32_t byte = 0; byte < bytes; byte += 4) words.push_back((asked[i] + byte) / 4);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::array<uint64_t, 32> by_bank{};
    for (const uint64_t word : words) ++by_bank[word % 32];
    out.actual += *std::max_element(by_bank.begin(), by_bank.end());
    out.ideal += 1;
  }
  return out;
}

class Profiler : public Observer {
 public:
  Profiler(const std::vector<IssueCost>& costs, const WaitTable& waits, OldContents& old)
      : costs_(costs), wait_table_(waits), old_(old) {}

  void before(Warp& warp, const Op& op, uint32_t mask) override {
    const IssueCost& cost = costs_[static_cast<size_t>(op.source)];
    profile_.issued[static_cast<size_t>(cost.pipe)] += cost.slots;
    profile_.issued[static_cast<size_t>(Pipe::special)] += cost.special_slots;
    profile_.issued[static_cast<size_t>(Pipe::integer)] += cost.moved_slots;
    while (waits_.size() <= static_cast<size_t>(warp.index)) waits_.emplace_back(wait_table_);
    waits_[static_cast<size_t>(warp.index)].before(op.source, mask != 0);
    if (mask == 0) return;
    old_.keep(warp, op, mask);
    count(warp, op, mask);
  }

  CtaProfile finish(double weight) {
    const auto longest = std::max_element(
        waits_.begin(), waits_.end(), [](const WarpWaits& a, const WarpWaits& b) { return a.issued() < b.issued(); });
    if (longest != waits_.end()) {
      profile_.longest_warp_issued = longest->issued();
      profile_.load_waits = longest->load_waits();
      profile_.shared_waits = longest->shared_waits();
      profile_.load_wait_distance = longest->load_wait_distance();
      profile_.shared_wait_distance = longest->shared_wait_distance();
      profile_.copy_wait_distances = longest->copy_wait_distances();
    }
    profile_.read_sectors.assign(read_.begin(), read_.end());
    profile_.written_sectors.assign(written_.begin(), written_.end());
    std::sort(profile_.read_sectors.begin(), profile_.read_sectors.end());
    std::sort(profile_.written_sectors.begin(), profile_.written_sectors.end());
    profile_.weight = weight;
    return std::move(profile_);
  }

 private:
  void count(Warp& warp, const Op& op, uint32_t mask) {
    const ptx::Instruction& in = *op.instruction;
    switch (in.opcode) {
      case Opcode::bar:
        if (warp.index == 0) ++profile_.barriers;
        return;
      case Opcode::mma:
        return count_products(in.mma_shape);
      case Opcode::ldmatrix:
        return count_matrices(warp, op);
      case Opcode::cp_async:
        return count_copy(warp, op, mask);
      case Opcode::ld:
      case Opcode::st:
      case Opcode::atom:
      case Opcode::red:
        if (in.space != Space::param && in.space != Space::constant) count_access(warp, op, mask);
        return;
      default:
        return;
    }
  }

  void count_products(ptx::MmaShape shape) {
    if (shape == ptx::MmaShape::m8n8k16) {
      profile_.turing_products += 8 * 8 * 16;
    } else {
      profile_.ampere_products += shape == ptx::MmaShape::m16n8k32 ? 16 * 8 * 32 : 16 * 8 * 16;
    }
  }

  // Each matrix is read at once: 8 rows of 16 bytes.
  void count_matrices(Warp& warp, const Op& op) {
    std::array<uint64_t, kLanes> at;
    addresses(warp, op, at.data());
    for (int matrix = 0; matrix < op.instruction->vector; ++matrix) {
      const Wavefronts wavefronts = count_wavefronts({at.begin() + 8 * matrix, at.begin() + 8 * matrix + 8}, 16);
      add_shared(wavefronts);
      profile_.matrix_conflicts += wavefronts.actual - wavefronts.ideal;
    }
  }

  void count_copy(Warp& warp, const Op& op, uint32_t mask) {
    const ptx::Instruction& in = *op.instruction;
    const auto bytes = static_cast<uint32_t>(ptx::access_bytes(in));
    std::array<uint64_t, kLanes> to, from;
    std::array<uint32_t, kLanes> read;
    addresses(warp, op, to.data());
    addresses(warp, op, from.data(), 1);
    virtual_gpu::bytes_to_read(warp, op, mask, read.data());
    std::vector<uint64_t> shared, global;
    for_each_lane(mask, [&](int l) {
      const auto lane = static_cast<size_t>(l);
      shared.push_back(to[lane]);
      if (read[lane] != 0) global.push_back(from[lane]);
    });
    const Wavefronts wavefronts = count_wavefronts(std::move(shared), bytes);
    add_shared(wavefronts);
    profile_.copy_conflicts += wavefronts.actual - wavefronts.ideal;
    const bool past_l1 = in.text.find(".cg") != std::string::npos;
    if (!global.empty()) count_sectors(past_l1 ? profile_.copies : profile_.loads, read_, global, bytes);
  }

  void add_shared(const Wavefronts& wavefronts) {
    profile_.shared_wavefronts += wavefronts.actual;
    profile_.shared_wavefronts_ideal += wavefronts.ideal;
  }

  void count_access(Warp& warp, const Op& op, uint32_t mask) {
    const ptx::Instruction& in = *op.instruction;
    const auto bytes = static_cast<uint32_t>(ptx::access_bytes(in));
    std::array<uint64_t, kLanes> at;
    addresses(warp, op, at.data());
    std::vector<uint64_t> shared, global;
    for_each_lane(mask, [&](int l) {
      uint64_t address = at[static_cast<size_t>(l)];
      const Space space = space_of(in.space, address);
      if (space == Space::shared) shared.push_back(address);
      if (space == Space::global) global.push_back(address);
    });
    if (!shared.empty()) add_shared(count_wavefronts(std::move(shared), bytes));
    if (global.empty()) return;
    const bool is_load = in.opcode == Opcode::ld;
    count_sectors(is_load ? profile_.loads : profile_.stores, is_load ? read_ : written_, global, bytes);
  }

  static void count_sectors(GlobalRequests& requests, std::unordered_set<uint64_t>& distinct,
                            std::vector<uint64_t> asked, uint32_t bytes) {
    std::sort(asked.begin(), asked.end());
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
    std::vector<uint64_t> sectors;
    for (const uint64_t address : asked) {
      for (uint64_t s = address / kSectorBytes; s <= (address + bytes - 1) / kSectorBytes; ++s) {
        if (sectors.empty() || sectors.back() != s) sectors.push_back(s);
      }
    }
    ++requests.count;
    requests.narrow += bytes < 16 ? 1 : 0;
    requests.partial += asked.size() * bytes < sectors.size() * kSectorBytes ? 1 : 0;
    requests.sectors += sectors.size();
    distinct.insert(sectors.begin(), sectors.end());
  }

  const std::vector<IssueCost>& costs_;
  const WaitTable& wait_table_;
  OldContents& old_;
  CtaProfile profile_;
  std::vector<WarpWaits> waits_;  // by warp
  std::unordered_set<uint64_t> read_, written_;
};

}  // namespace

std::vector<CtaProfile> profile_ctas(const Grid& grid, const std::vector<Sample>& samples,
                                     const std::vector<IssueCost>& costs, uint64_t instruction_limit) {
  const WaitTable waits(grid.code->kernel, costs);
  OldContents old;
  std::vector<CtaProfile> out;
  for (const Sample& sample : samples) {
    Profiler profiler(costs, waits, old);
    CtaRunner(grid, nullptr, &profiler).run(sample.cta, instruction_limit);
    if (!sample.hands_on) old.take_back();
    out.push_back(profiler.finish(sample.weight));
  }
  return out;
}

}  // namespace warpwright::virtual_gpu
