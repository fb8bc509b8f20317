// Weights of an mma_stem kernel: B fragments, [block of channels][warp][step][pair of column tiles][lane], 16 bytes a
// lane: the two words of either column tile.
#include "search_space/mma/warp_tile.h"
#include "search_space/mma_stem/plan.h"
#include "search_space/product_epilogue.h"
#include "src/core/error.h"

namespace warpwright::mma_stem {

namespace {

/// One word of a fragment: the four input channels of an output channel at one tap; zero points where there are none.
class Filter {
 public:
  Filter(const Workload& workload, const Plan& plan, const Values& values)
      : workload_(workload), plan_(plan), values_(values) {
    const auto found = values.find("weights");
    if (found == values.end()) throw InternalError("value 'weights' is missing");
    weights_ = found->second.bytes.data();
  }

  void write(std::byte* word, int64_t channel, int64_t packed_tap) const {
    if (channel >= workload_.output.c) return;
    const Window& window = workload_.window;
    const TensorForm& x = workload_.inputs[0];
    const int64_t r = packed_tap / plan_.row_taps, s = packed_tap % plan_.row_taps;
    const bool is_tap = r < window.kernel_h && s < window.kernel_w;
    const auto zero_point = static_cast<std::byte>(weight_zero_point_of(workload_, values_, channel));
    for (int64_t c = 0; c < 4; ++c) {
      const int64_t at = ((channel * window.kernel_h + r) * window.kernel_w + s) * x.c + c;
      word[c] = is_tap && c < x.c ? weights_[at] : zero_point;
    }
  }

 private:
  const Workload& workload_;
  const Plan& plan_;
  const Values& values_;
  const std::byte* weights_ = nullptr;
};

}  // namespace

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  const Filter filter(workload, plan, values);
  Tensor packed(workload.weight_dtype, {plan.c_blocks * plan.weight_bytes});
  std::byte* word = packed.bytes.data();
  for (int64_t warp = 0; warp < plan.c_blocks * plan.warps_n; ++warp) {
    for (int64_t step = 0; step < plan.steps; ++step) {
      for (int64_t pair = 0; pair < plan.column_tiles() / 2; ++pair) {
        for (int64_t lane = 0; lane < 32; ++lane) {
          for (int64_t i = 0; i < 4; ++i, word += 4) {
            const int64_t channel = warp * plan.warp_n + mma::column_of((pair * 2 + i / 2) * 8 + lane / 4, plan.run);
            filter.write(word, channel, step * kStepTaps + i % 2 * kGroupTaps + lane % 4);
          }
        }
      }
    }
  }
  return packed;
}

}  // namespace warpwright::mma_stem
