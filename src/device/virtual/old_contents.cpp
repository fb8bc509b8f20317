// What global memory held before sampled CTAs wrote to it.
#include "src/device/virtual/old_contents.h"

#include <cstring>

#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {

void OldContents::keep(Warp& warp, const Op& op, uint32_t mask) {
  const ptx::Opcode opcode = op.instruction->opcode;
  if (opcode != ptx::Opcode::st && opcode != ptx::Opcode::atom && opcode != ptx::Opcode::red) return;
  const auto bytes = static_cast<uint32_t>(ptx::access_bytes(*op.instruction));
  std::array<uint64_t, kLanes> at;
  addresses(warp, op, at.data());
  for_each_lane(mask, [&](int l) {
    uint64_t address = at[static_cast<size_t>(l)];
    if (space_of(op.instruction->space, address) != ptx::Space::global) return;
    Change& change = changes_.emplace_back();
    change.at = resolve(warp, op, at[static_cast<size_t>(l)], l, bytes);
    change.bytes = bytes;
    std::memcpy(change.old.data(), change.at, bytes);
  });
}

void OldContents::take_back() {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    std::memcpy(change->at, change->old.data(), change->bytes);
  }
  changes_.clear();
}

}  // namespace warpwright::virtual_gpu
