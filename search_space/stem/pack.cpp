// Weights of a stem kernel: [block of channels][tap][channel], one word of four input channels each.
#include "search_space/product_epilogue.h"
#include "search_space/stem/plan.h"
#include "src/core/error.h"

namespace warpwright::stem {

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  const auto found = values.find("weights");
  if (found == values.end()) throw InternalError("value 'weights' is missing");
  const std::byte* const weights = found->second.bytes.data();
  const int64_t taps = workload.window.kernel_h * workload.window.kernel_w, inputs = workload.inputs[0].c;
  Tensor packed(workload.weight_dtype, {plan.c_blocks * plan.weight_bytes});
  for (int64_t k = 0; k < workload.output.c; ++k) {
    const auto zero_point = static_cast<std::byte>(weight_zero_point_of(workload, values, k));
    std::byte* const block = packed.bytes.data() + k / plan.tile_channels * plan.weight_bytes;
    for (int64_t tap = 0; tap < taps; ++tap) {
      std::byte* const word = block + (tap * plan.tile_channels + k % plan.tile_channels) * 4;
      for (int64_t c = 0; c < 4; ++c) word[c] = c < inputs ? weights[(k * taps + tap) * inputs + c] : zero_point;
    }
  }
  return packed;
}

}  // namespace warpwright::stem
