// conv2d and dense: centred patches times centred weights, blocks of output channels by blocks of pixels.
#include <algorithm>
#include <vector>

#include "src/reference/dot_product.h"
#include "src/reference/epilogue.h"
#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

namespace {

constexpr int64_t kChannelBlock = 64;
constexpr int64_t kPixelBlock = 256;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

class MatrixProduct {
 public:
  explicit MatrixProduct(const Operation& operation)
      : operation_(operation),
        workload_(operation.workload),
        epilogue_(operation),
        x_view_(workload_.inputs[0]),
        group_inputs_(workload_.inputs[0].c / workload_.groups),
        group_outputs_(workload_.output.c / workload_.groups),
        taps_(workload_.window.kernel_h * workload_.window.kernel_w),
        length_(taps_ * group_inputs_),
        row_(round_up(length_, kDotUnit)),
        pixels_(workload_.output.pixels()),
        x_zero_point_(workload_.x_zero_point == ZeroPointForm::zero ? 0 : operation.s32("x_zero_point")) {}

  void run() {
    const int64_t channel_blocks = (group_outputs_ + kChannelBlock - 1) / kChannelBlock;
    const int64_t pixel_blocks = (pixels_ + kPixelBlock - 1) / kPixelBlock;
    parallel_for(workload_.groups * channel_blocks * pixel_blocks, [&](int64_t index) {
      const int64_t pixel_block = index % pixel_blocks;
      const int64_t channel_block = index / pixel_blocks % channel_blocks;
      const int64_t group = index / pixel_blocks / channel_blocks;
      run_block(group, channel_block * kChannelBlock, pixel_block * kPixelBlock);
    });
  }

 private:
  void run_block(int64_t group, int64_t first_channel, int64_t first_pixel) const {
    const int64_t channels = std::min(kChannelBlock, group_outputs_ - first_channel);
    const int64_t channel = group * group_outputs_ + first_channel;
    // Kept from block to block: fresh pages would cost more than a small block's products.
    static thread_local std::vector<int16_t> weights;
    weights.assign(round_up(channels, 4) * row_, 0);
    for (int64_t i = 0; i < channels; ++i) read_weights(channel + i, &weights[i * row_]);

    std::vector<int16_t> patches(2 * row_, 0);
    int32_t sums[2][kChannelBlock];
    const int64_t end = std::min(pixels_, first_pixel + kPixelBlock);
    for (int64_t pixel = first_pixel; pixel < end; pixel += 2) {
      const int rows = pixel + 1 < end ? 2 : 1;
      for (int i = 0; i < rows; ++i) read_patch(pixel + i, group, &patches[i * row_]);
      for (int64_t k = 0; k < channels; k += 4) {
        int32_t block[8];
        dot_rows(patches.data(), rows, &weights[k * row_], row_, block);
        for (int i = 0; i < rows; ++i) std::copy_n(block + 4 * i, 4, &sums[i][k]);
      }
      for (int i = 0; i < rows; ++i) write_pixel(pixel + i, channel, channels, sums[i]);
    }
  }

  void read_weights(int64_t channel, int16_t* to) const {
    int32_t zero_point = 0;
    if (workload_.weight_zero_point != ZeroPointForm::zero) {
      const auto zero_points = operation_.values.at("weight_zero_point").as<int32_t>();
      zero_point = zero_points[workload_.weight_zero_point == ZeroPointForm::per_channel ? channel : 0];
    }
    const Tensor& weights = operation_.values.at("weights");
    with_code_type(workload_.weight_dtype, [&](auto code) {
      centre(weights.as<decltype(code)>().data() + channel * length_, length_, zero_point, to);
    });
  }

  /// The window's input codes of one output pixel, less the zero point; 0 outside the image.
  void read_patch(int64_t pixel, int64_t group, int16_t* to) const {
    const TensorForm& x = workload_.inputs[0];
    const Window& window = workload_.window;
    const int64_t q = pixel % workload_.output.w, p = pixel / workload_.output.w % workload_.output.h;
    const int64_t n = pixel / workload_.output.w / workload_.output.h;
    for (int64_t r = 0; r < window.kernel_h; ++r) {
      const int64_t h = p * window.stride_h - window.pad_top + r * window.dilation_h;
      for (int64_t s = 0; s < window.kernel_w; ++s, to += group_inputs_) {
        const int64_t w = q * window.stride_w - window.pad_left + s * window.dilation_w;
        if (h < 0 || h >= x.h || w < 0 || w >= x.w) {
          std::fill_n(to, group_inputs_, int16_t{0});
        } else {
          read_channels(x_view_.at(n, h, w, group * group_inputs_), to);
        }
      }
    }
  }

  void read_channels(int64_t offset, int16_t* to) const {
    with_code_type(workload_.inputs[0].dtype, [&](auto code) {
      const auto* from = operation_.inputs[0]->as<decltype(code)>().data() + offset;
      if (x_view_.stride_c == 1) {
        centre(from, group_inputs_, x_zero_point_, to);
      } else {
        for (int64_t c = 0; c < group_inputs_; ++c) {
          to[c] = static_cast<int16_t>(from[c * x_view_.stride_c] - x_zero_point_);
        }
      }
    });
  }

  void write_pixel(int64_t pixel, int64_t channel, int64_t channels, const int32_t* sums) const {
    const int64_t q = pixel % workload_.output.w, p = pixel / workload_.output.w % workload_.output.h;
    epilogue_.write(pixel / workload_.output.w / workload_.output.h, p, q, channel, channels, sums);
  }

  const Operation& operation_;
  const Workload& workload_;
  EpilogueStep epilogue_;
  TensorView x_view_;
  int64_t group_inputs_, group_outputs_, taps_, length_, row_, pixels_;
  int32_t x_zero_point_;
};

}  // namespace

void run_matrix_product(const Operation& operation) { MatrixProduct(operation).run(); }

}  // namespace warpwright
