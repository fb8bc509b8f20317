// Weights of a depthwise kernel: for every 4 input channels and output of each, groups of 4 words, one a channel.
#include "search_space/arithmetic.h"
#include "search_space/depthwise/plan.h"
#include "search_space/product_epilogue.h"
#include "src/core/error.h"

namespace warpwright::depthwise {

namespace {

/// The filter column behind byte `lane` of the word for output `w` of a group and quad `quad`; -1: none.
int64_t tap_of(const Window& window, int64_t w, int64_t quad, int64_t lane) {
  const int64_t s = quad * 4 + lane - w * window.stride_w;
  return s >= 0 && s < window.kernel_w ? s : -1;
}

}  // namespace

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  const auto found = values.find("weights");
  if (found == values.end()) throw InternalError("value 'weights' is missing");
  const std::byte* const weights = found->second.bytes.data();
  const Window& window = workload.window;
  const int64_t taps = window.kernel_h * window.kernel_w;
  const int64_t words = plan.c_blocks * plan.tile_channels / 4;
  Tensor packed(workload.weight_dtype, {words * plan.weight_vectors * 16});
  auto word_at = [&](int64_t c, int64_t vector, int64_t m) {
    return packed.bytes.data() + (c / 4 * plan.weight_vectors + vector * plan.multiplier + m) * 16 + c % 4 * 4;
  };
  for (int64_t k = 0; k < workload.output.c; ++k) {
    const int64_t c = k / plan.multiplier, m = k % plan.multiplier;
    const auto zero_point = static_cast<std::byte>(weight_zero_point_of(workload, values, k));
    for (int64_t r = 0; r < window.kernel_h; ++r) {
      const std::byte* const row = weights + k * taps + r * window.kernel_w;
      if (!plan.transposed) {
        for (int64_t s = 0; s < window.kernel_w; ++s) word_at(c, r * window.kernel_w + s, m)[c % 4] = row[s];
        continue;
      }
      for (int64_t w = 0; w < plan.group; ++w) {
        for (int64_t quad = 0; quad < plan.quads; ++quad) {
          std::byte* const word = word_at(c, (r * plan.group + w) * plan.quads + quad, m);
          for (int64_t lane = 0; lane < 4; ++lane) {
            // The sum of x counts every pixel of a quad: where there is no tap, the zero point cancels it.
            const int64_t s = tap_of(window, w, quad, lane);
            word[lane] = s < 0 ? zero_point : row[s];
          }
        }
      }
    }
  }
  return packed;
}

}  // namespace warpwright::depthwise
