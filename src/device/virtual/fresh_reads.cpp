// How much neighbouring CTAs read in common, from what they read first.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "src/device/virtual/async_copy.h"
#include "src/device/virtual/cta_runner.h"
#include "src/device/virtual/fault.h"
#include "src/device/virtual/global_memory.h"
#include "src/device/virtual/handlers.h"
#include "src/device/virtual/old_contents.h"
#include "src/device/virtual/profiler.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::Opcode;
using ptx::Space;

constexpr uint64_t kMostCtas = 256, kMostInstructions = 200'000, kMostOfCta = 20'000, kSectorBytes = 32;

/// Ends the CTA when all its warps have met a barrier.
struct EnoughSeen {};

class FirstReads : public Observer {
 public:
  explicit FirstReads(OldContents& old) : old_(old) {}

  void before(Warp& warp, const Op& op, uint32_t mask) override {
    if (mask == 0) return;
    ++instructions_;
    const ptx::Instruction& in = *op.instruction;
    const auto index = static_cast<size_t>(warp.index);
    if (done_.size() <= index) done_.resize(index + 1, false);
    if (in.opcode == Opcode::bar || in.opcode == Opcode::cp_async_commit) done_[index] = true;
    if (in.opcode == Opcode::bar && ++at_barrier_ >= warp.cta->warps.size()) throw EnoughSeen();
    old_.keep(warp, op, mask);
    if (done_[index]) return;
    if (in.opcode == Opcode::cp_async) {
      count(warp, op, mask, 1);
    } else if (in.opcode == Opcode::ld && (in.space == Space::global || in.space == Space::generic)) {
      count(warp, op, mask, 0);
    }
  }

  void forget() {
    done_.clear();
    at_barrier_ = 0;
    sectors_.clear();
  }

  const std::unordered_set<uint64_t>& sectors() const { return sectors_; }
  uint64_t instructions() const { return instructions_; }  // of all CTAs

 private:
  void count(Warp& warp, const Op& op, uint32_t mask, size_t which) {
    std::array<uint64_t, kLanes> at;
    std::array<uint32_t, kLanes> bytes;
    addresses(warp, op, at.data(), which);
    if (which == 1) {
      bytes_to_read(warp, op, mask, bytes.data());
    } else {
      bytes.fill(static_cast<uint32_t>(ptx::access_bytes(*op.instruction)));
    }
    for_each_lane(mask, [&](int l) {
      const auto lane = static_cast<size_t>(l);
      uint64_t address = at[lane];
      if (space_of(Space::generic, address) == Space::global && bytes[lane] > 0)
        sectors_.insert(address / kSectorBytes);
    });
  }

  OldContents& old_;
  std::vector<bool> done_;  // by warp
  size_t at_barrier_ = 0;
  uint64_t instructions_ = 0;
  std::unordered_set<uint64_t> sectors_;
};

uint64_t buffer_of(uint64_t sector) { return sector * kSectorBytes >> kSlotBits; }

/// By buffer: its part of what a CTA reads on average.
std::map<uint64_t, double> parts_by_buffer(const std::vector<CtaProfile>& sampled) {
  std::map<uint64_t, double> parts;
  double sum = 0;
  for (const CtaProfile& cta : sampled) {
    for (const uint64_t sector : cta.read_sectors) parts[buffer_of(sector)] += cta.weight;
    sum += cta.weight * static_cast<double>(cta.read_sectors.size());
  }
  for (auto& [buffer, part] : parts) part /= sum;
  return parts;
}

/// Of one CTA: the part of its reads that is not `known`, which they become. What it reads later of a buffer is taken
/// to be like what it read first of it, and new when it read nothing of it so far.
double fresh_part_of(const std::unordered_set<uint64_t>& sectors, const std::map<uint64_t, double>& parts,
                     std::unordered_set<uint64_t>& known) {
  std::map<uint64_t, std::pair<double, double>> seen;  // by buffer: new ones, all
  for (const uint64_t sector : sectors) {
    auto& [fresh, all] = seen[buffer_of(sector)];
    fresh += known.insert(sector).second ? 1 : 0;
    all += 1;
  }
  double sum = 0;
  for (const auto& [buffer, part] : parts) {
    const auto found = seen.find(buffer);
    sum += part * (found == seen.end() ? 1 : found->second.first / found->second.second);
  }
  return sum;
}

}  // namespace

std::vector<double> fresh_reads(const Grid& grid, const std::vector<CtaProfile>& sampled) {
  const uint64_t ctas = uint64_t{grid.shape.grid[0]} * grid.shape.grid[1] * grid.shape.grid[2];
  const uint64_t count = std::min(ctas, kMostCtas), start = (ctas - count) / 2;
  const std::map<uint64_t, double> parts = parts_by_buffer(sampled);
  std::vector<double> fresh;
  if (parts.empty()) return fresh;
  OldContents old;
  FirstReads reads(old);
  CtaRunner runner(grid, nullptr, &reads);
  std::unordered_set<uint64_t> known;
  for (uint64_t i = 0; i < count && reads.instructions() < kMostInstructions; ++i) {
    reads.forget();
    try {
      runner.run(start + i, kMostOfCta);
    } catch (const EnoughSeen&) {  // what it has read so far is what counts
    } catch (const Fault& fault) {
      if (fault.kind != OutcomeKind::run_timeout) throw;
    }
    old.take_back();
    fresh.push_back(fresh_part_of(reads.sectors(), parts, known));
  }
  return fresh;
}

}  // namespace warpwright::virtual_gpu
