// real_conv2d and real_matmul: one product of matrices whose sums run in the order of k, vectorised over the columns.
#include <algorithm>
#include <vector>

#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/target_clones.h"

namespace warpwright {

namespace {

constexpr int64_t kColumns = 128;  // of a block; a block's part of b and one row of its sums stay in the first cache
constexpr int64_t kDepth = 64;     // of a block
constexpr int64_t kRows = 256;     // that one thread takes

/// sum[j] = fma(a[0], b[0][j], sum[j]), then a[1], ... up to `depth`.
WW_FMA_CLONES void accumulate(const float* a, const float* __restrict b, int64_t b_stride, int64_t depth,
                              int64_t columns, float* __restrict sum) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    const float *b0 = b + k * b_stride, *b1 = b0 + b_stride, *b2 = b1 + b_stride, *b3 = b2 + b_stride;
    const float a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
    for (int64_t j = 0; j < columns; ++j) {
      float s = __builtin_fmaf(a0, b0[j], sum[j]);
      s = __builtin_fmaf(a1, b1[j], s);
      s = __builtin_fmaf(a2, b2[j], s);
      sum[j] = __builtin_fmaf(a3, b3[j], s);
    }
  }
  for (; k < depth; ++k) {
    for (int64_t j = 0; j < columns; ++j) sum[j] = __builtin_fmaf(a[k], b[k * b_stride + j], sum[j]);
  }
}

/// y[m][j] = sum over k of a[m][k] * b[k][j] for one block of columns; y begins as zeros.
void multiply(const float* a, int64_t rows, int64_t depth, const float* b, int64_t b_stride, int64_t columns, float* y,
              int64_t y_stride) {
  for (int64_t k = 0; k < depth; k += kDepth) {
    const int64_t part = std::min(kDepth, depth - k);
    for (int64_t m = 0; m < rows; ++m) {
      accumulate(a + m * depth + k, b + k * b_stride, b_stride, part, columns, y + m * y_stride);
    }
  }
}

std::vector<float> transposed(const float* from, int64_t rows, int64_t columns) {
  std::vector<float> to(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[static_cast<size_t>(j * rows + i)] = from[i * columns + j];
  }
  return to;
}

/// The pixels [first, first + count) of one image as columns: [channels * taps][count].
void unfold(const Workload& workload, const float* x, int64_t first, int64_t count, std::vector<float>& columns) {
  const TensorForm &form = workload.inputs[0], &y = workload.output;
  const Window& window = workload.window;
  const int64_t channels = form.c / workload.groups;
  columns.resize(static_cast<size_t>(workload.reduction_size() * count));
  float* to = columns.data();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < window.kernel_h; ++i) {
      for (int64_t j = 0; j < window.kernel_w; ++j, to += count) {
        int64_t p = first / y.w, q = first % y.w;
        for (int64_t column = 0; column < count; ++column) {
          const int64_t h = p * window.stride_h + i * window.dilation_h - window.pad_top;
          const int64_t w = q * window.stride_w + j * window.dilation_w - window.pad_left;
          const bool inside = h >= 0 && h < form.h && w >= 0 && w < form.w;
          to[column] = inside ? x[(c * form.h + h) * form.w + w] : 0.0F;
          if (++q == y.w) q = 0, ++p;
        }
      }
    }
  }
}

}  // namespace

void run_real_conv2d(const Operation& operation) {
  const Workload& workload = operation.workload;
  const TensorForm &x_form = workload.inputs[0], &y_form = workload.output;
  const int64_t pixels = y_form.h * y_form.w, blocks = (pixels + kColumns - 1) / kColumns;
  const int64_t channels = x_form.c / workload.groups, outputs = y_form.c / workload.groups;
  const int64_t depth = workload.reduction_size();
  const float* x = operation.inputs[0]->as<float>().data();
  const float* weights = operation.values.at("weights").as<float>().data();
  const float* bias = workload.epilogue.bias ? operation.values.at("bias").as<float>().data() : nullptr;
  float* y = operation.output.as<float>().data();
  parallel_for(x_form.n * workload.groups * blocks, [&](int64_t index) {
    const int64_t first = index % blocks * kColumns, image = index / blocks;  // image: n * groups + group
    const int64_t columns = std::min(kColumns, pixels - first), group = image % workload.groups;
    std::vector<float> b;
    unfold(workload, x + image * channels * x_form.h * x_form.w, first, columns, b);
    float* to = y + image * outputs * pixels + first;
    multiply(weights + group * outputs * depth, outputs, depth, b.data(), columns, columns, to, pixels);
    if (bias == nullptr) return;
    for (int64_t k = 0; k < outputs; ++k) {
      for (int64_t j = 0; j < columns; ++j) to[k * pixels + j] += bias[group * outputs + k];
    }
  });
}

void run_real_matmul(const Operation& operation) {
  const Workload& workload = operation.workload;
  const int64_t rows = workload.matrix_rows(), depth = workload.inputs[0].c, columns = workload.output.c;
  const float* a = operation.inputs[0]->as<float>().data();
  const Tensor& second = workload.inputs.size() == 2 ? *operation.inputs[1] : operation.values.at("weights");
  const float* bias = workload.epilogue.bias ? operation.values.at("bias").as<float>().data() : nullptr;
  float* y = operation.output.as<float>().data();
  const int64_t row_blocks = (rows + kRows - 1) / kRows, column_blocks = (columns + kColumns - 1) / kColumns;
  for (int64_t i = 0; i < workload.batch; ++i) {
    const float* b = second.as<float>().data() + i * depth * columns;
    const std::vector<float> turned = workload.transposed ? transposed(b, columns, depth) : std::vector<float>();
    if (workload.transposed) b = turned.data();
    parallel_for(row_blocks * column_blocks, [&](int64_t index) {
      const int64_t m = index / column_blocks * kRows, n = index % column_blocks * kColumns;
      const int64_t height = std::min(kRows, rows - m), width = std::min(kColumns, columns - n);
      float* to = y + (i * rows + m) * columns + n;
      multiply(a + (i * rows + m) * depth, height, depth, b + n, columns, width, to, columns);
      if (bias == nullptr) return;
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t j = 0; j < width; ++j) to[row * columns + j] += bias[n + j];
      }
    });
  }
}

}  // namespace warpwright
