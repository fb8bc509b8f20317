// Says where a kernel went wrong.
#include "src/device/virtual/fault.h"

#include <fmt/format.h>

namespace warpwright::virtual_gpu {

std::string describe_cta(const Grid& grid, uint64_t number) {
  const auto& size = grid.shape.grid;
  return fmt::format("({},{},{})", number % size[0], number / size[0] % size[1], number / size[0] / size[1]);
}

std::string describe_thread(const Cta& cta, int warp, int lane) {
  const auto& block = cta.grid->shape.block;
  const auto linear = static_cast<uint32_t>(warp * kLanes + lane);
  return fmt::format("thread ({},{},{})", linear % block[0], linear / block[0] % block[1],
                     linear / block[0] / block[1]);
}

std::string describe_place(const Warp& warp, const Op& op, int lane) {
  const Cta& cta = *warp.cta;
  std::string out = fmt::format("PTX line {} '{}', CTA ({},{},{})", op.instruction->line, op.instruction->text,
                                cta.position[0], cta.position[1], cta.position[2]);
  return out + (lane < 0 ? fmt::format(", warp {}", warp.index) : ", " + describe_thread(cta, warp.index, lane));
}

void raise(OutcomeKind kind, const std::string& what, const Warp& warp, const Op& op, int lane) {
  throw Fault{kind, fmt::format("{}; {}", what, describe_place(warp, op, lane))};
}

}  // namespace warpwright::virtual_gpu
