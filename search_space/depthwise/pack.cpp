// Weights of a depthwise kernel: a vector of all channels behind the other, for each part, filter row and place in it.
//
// Untransposed, a vector holds a byte a channel: one tap for one of `part` outputs. Transposed, it holds for each
// channel a word of four taps, in groups of 4 channels: the first of every thread, then the second of every thread.
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
  const int64_t row_bytes = plan.row_vectors * plan.padded_channels;
  Tensor packed(workload.weight_dtype, {plan.parts * window.kernel_h * row_bytes});
  for (int64_t k = 0; k < workload.output.c; ++k) {
    const int64_t c = k / plan.multiplier, m = k % plan.multiplier % plan.part, part = k % plan.multiplier / plan.part;
    const auto zero_point = static_cast<std::byte>(weight_zero_point_of(workload, values, k));
    for (int64_t r = 0; r < window.kernel_h; ++r) {
      const std::byte* const from = weights + (k * window.kernel_h + r) * window.kernel_w;
      std::byte* const row = packed.bytes.data() + (part * window.kernel_h + r) * row_bytes;
      if (!plan.transposed) {
        for (int64_t s = 0; s < window.kernel_w; ++s) row[(s * plan.part + m) * plan.padded_channels + c] = from[s];
        continue;
      }
      const int64_t words = plan.channels / 4, word = c % plan.channels / 4;
      const int64_t across = plan.padded_channels / plan.channels;
      for (int64_t place = 0; place < plan.group * plan.quads; ++place) {
        const int64_t vector = ((place * plan.part + m) * words + word) * across + c / plan.channels;
        for (int64_t lane = 0; lane < 4; ++lane) {
          // The sum of x counts every pixel of a quad: where there is no tap, the zero point cancels it.
          const int64_t s = tap_of(window, place / plan.quads, place % plan.quads, lane);
          row[vector * 16 + c % 4 * 4 + lane] = s < 0 ? zero_point : from[s];
        }
      }
    }
  }
  return packed;
}

}  // namespace warpwright::depthwise
