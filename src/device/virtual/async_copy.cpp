// cp.async: the bytes move when it is issued, which no kernel that passes the checks can tell from later.
#include "src/device/virtual/async_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {

void bytes_to_read(Warp& warp, const Op& op, uint32_t mask, uint32_t* out) {
  const ptx::Instruction& in = *op.instruction;
  const auto size = static_cast<uint32_t>(ptx::access_bytes(in));
  std::fill_n(out, kLanes, size);
  if (in.sources.size() < 4) return;
  const ptx::Operand& read = in.sources[3];
  const auto& registers = warp.cta->grid->code->kernel.registers;
  if (read.reg >= 0 && registers[static_cast<size_t>(read.reg)].type == ptx::Type::pred) {
    const uint32_t ignored = predicate(warp, op.s[1]);
    for_each_lane(mask & ignored, [&](int l) { out[l] = 0; });
    return;
  }
  const uint32_t* sizes = lanes<uint32_t>(warp, op.s[1]);
  for_each_lane(mask, [&](int l) {
    if (sizes[l] > size) {
      raise(OutcomeKind::memory_fault, fmt::format("a source size of {} bytes for a copy of {}", sizes[l], size), warp,
            op, l);
    }
    out[l] = sizes[l];
  });
}

namespace {

void copy(Warp& warp, const Op& op, uint32_t mask) {
  const auto size = static_cast<uint32_t>(ptx::access_bytes(*op.instruction));
  uint64_t to[kLanes], from[kLanes];
  uint32_t read[kLanes];
  addresses(warp, op, to);
  addresses(warp, op, from, 1);
  bytes_to_read(warp, op, mask, read);
  for_each_lane(mask, [&](int l) {
    std::byte* target = resolve(warp, op, to[l], l, size);
    if (read[l] != 0)
      std::memcpy(target, resolve({ptx::Space::global, false, read[l], size}, warp, op, from[l], l), read[l]);
    std::memset(target + read[l], 0, size - read[l]);
  });
}

void do_nothing(Warp&, const Op&, uint32_t) {}

}  // namespace

Handlers copy_handlers(const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::cp_async:
      return {&copy, &copy};
    case ptx::Opcode::cp_async_commit:
    case ptx::Opcode::cp_async_wait_all:
    case ptx::Opcode::cp_async_wait_group:
      return {&do_nothing, &do_nothing};
    default:
      return {};
  }
}

}  // namespace warpwright::virtual_gpu
