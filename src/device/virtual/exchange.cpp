// What lanes of a warp do with one another: shfl, vote, match, redux, activemask.
#include <fmt/format.h>

#include <array>

#include "src/device/virtual/fault.h"
#include "src/device/virtual/handlers.h"

namespace warpwright::virtual_gpu {
namespace {

using ptx::AtomicOp;
using ptx::Opcode;
using ptx::ShuffleMode;
using ptx::VoteMode;

// The member mask, the same for all that take part: each is in it, and all live members take part.
uint32_t members_of(Warp& warp, const Op& op, uint32_t mask, Place place) {
  const uint32_t* values = lanes<uint32_t>(warp, place);
  const uint32_t members = values[__builtin_ctz(mask)];
  for_each_lane(mask, [&](int l) {
    if (values[l] != members || (members >> l & 1u) == 0) {
      raise(OutcomeKind::memory_fault, fmt::format("member mask {:#x} does not fit lane {}", values[l], l), warp, op,
            l);
    }
  });
  if ((members & warp.live & ~mask) != 0) {
    raise(OutcomeKind::memory_fault,
          fmt::format("divergent: members {:#x}, of which {:#x} meet it", members, members & mask), warp, op,
          __builtin_ctz(members & warp.live & ~mask));
  }
  return members;
}

// Source lane of a shuffle; `inside` false: the lane keeps its own value.
int shuffle_source(ShuffleMode mode, int lane, uint32_t b, uint32_t c, bool& inside) {
  const int value = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
  const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
  int source = lane;
  switch (mode) {
    case ShuffleMode::up:
      source = lane - value;
      inside = source >= highest;
      break;
    case ShuffleMode::down:
      source = lane + value;
      inside = source <= highest;
      break;
    case ShuffleMode::bfly:
      source = lane ^ value;
      inside = source <= highest;
      break;
    default:
      source = lowest | (value & ~segment);
      inside = source <= highest;
      break;
  }
  return inside ? source : lane;
}

void shuffle(Warp& warp, const Op& op, uint32_t mask) {
  members_of(warp, op, mask, op.s[3]);
  std::array<uint32_t, kLanes> values;
  std::copy_n(lanes<uint32_t>(warp, op.s[0]), kLanes, values.begin());
  const uint32_t* b = lanes<uint32_t>(warp, op.s[1]);
  const uint32_t* c = lanes<uint32_t>(warp, op.s[2]);
  uint32_t* d = lanes<uint32_t>(warp, op.d[0]);
  uint32_t inside_mask = 0;
  std::array<uint32_t, kLanes> out{};
  for_each_lane(mask, [&](int l) {
    bool inside = false;
    const int source = shuffle_source(op.instruction->shuffle_mode, l, b[l], c[l], inside);
    if ((mask >> source & 1u) == 0) {
      raise(OutcomeKind::memory_fault, fmt::format("shuffle from lane {}, which takes no part", source), warp, op, l);
    }
    inside_mask |= static_cast<uint32_t>(inside) << l;
    out[static_cast<size_t>(l)] = values[static_cast<size_t>(source)];
  });
  for_each_lane(mask, [&](int l) { d[l] = out[static_cast<size_t>(l)]; });
  if (op.instruction->destinations.size() > 1) set_predicate(warp, op.d[1], mask, inside_mask);
}

void vote(Warp& warp, const Op& op, uint32_t mask) {
  const uint32_t members = members_of(warp, op, mask, op.s[1]) & mask;
  const uint32_t yes = predicate(warp, op.s[0]) & members;
  const VoteMode mode = op.instruction->vote_mode;
  if (mode == VoteMode::ballot) {
    uint32_t* d = lanes<uint32_t>(warp, op.d[0]);
    for_each_lane(mask, [&](int l) { d[l] = yes; });
    return;
  }
  const bool all = yes == members, none = yes == 0;
  const bool result = mode == VoteMode::all ? all : mode == VoteMode::any ? !none : all || none;
  set_predicate(warp, op.d[0], mask, result ? kAllLanes : 0);
}

template <typename T>
void match(Warp& warp, const Op& op, uint32_t mask) {
  members_of(warp, op, mask, op.s[1]);
  const T* a = lanes<T>(warp, op.s[0]);
  std::array<uint32_t, kLanes> equal{};
  for_each_lane(mask, [&](int l) {
    for_each_lane(mask, [&](int k) { equal[static_cast<size_t>(l)] |= static_cast<uint32_t>(a[k] == a[l]) << k; });
  });
  uint32_t* d = lanes<uint32_t>(warp, op.d[0]);
  if (!op.instruction->match_all) {
    for_each_lane(mask, [&](int l) { d[l] = equal[static_cast<size_t>(l)]; });
    return;
  }
  const bool all = equal[static_cast<size_t>(__builtin_ctz(mask))] == mask;
  for_each_lane(mask, [&](int l) { d[l] = all ? mask : 0; });
  if (op.instruction->destinations.size() > 1) set_predicate(warp, op.d[1], mask, all ? kAllLanes : 0);
}

uint32_t reduced(AtomicOp how, bool is_signed, uint32_t a, uint32_t b) {
  const bool less = is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  switch (how) {
    case AtomicOp::add:
      return a + b;
    case AtomicOp::min:
      return less ? a : b;
    case AtomicOp::max:
      return less ? b : a;
    case AtomicOp::and_:
      return a & b;
    case AtomicOp::or_:
      return a | b;
    default:
      return a ^ b;
  }
}

void reduce(Warp& warp, const Op& op, uint32_t mask) {
  members_of(warp, op, mask, op.s[1]);
  const uint32_t* a = lanes<uint32_t>(warp, op.s[0]);
  const bool is_signed = ptx::is_signed(op.instruction->type);
  const int first = __builtin_ctz(mask);
  uint32_t sum = a[first];
  for_each_lane(mask & (mask - 1), [&](int l) { sum = reduced(op.instruction->atomic_op, is_signed, sum, a[l]); });
  uint32_t* d = lanes<uint32_t>(warp, op.d[0]);
  for_each_lane(mask, [&](int l) { d[l] = sum; });
}

void active_mask(Warp& warp, const Op& op, uint32_t mask) {
  uint32_t* d = lanes<uint32_t>(warp, op.d[0]);
  for_each_lane(mask, [&](int l) { d[l] = mask; });
}

}  // namespace

Handlers exchange_handlers(const ptx::Instruction& in) {
  const auto same = [](Handler handler) { return Handlers{handler, handler}; };
  switch (in.opcode) {
    case Opcode::shfl:
      return same(&shuffle);
    case Opcode::vote:
      return same(&vote);
    case Opcode::match:
      return same(ptx::size_bytes(in.type) == 8 ? &match<uint64_t> : &match<uint32_t>);
    case Opcode::redux:
      return same(&reduce);
    case Opcode::activemask:
      return same(&active_mask);
    default:
      return {};
  }
}

}  // namespace warpwright::virtual_gpu
