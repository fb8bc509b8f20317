// matmul: centred rows of a times centred columns of b.
#include <algorithm>
#include <vector>

#include "src/reference/dot_product.h"
#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/rounding.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

namespace {

constexpr int64_t kColumnBlock = 64;
constexpr int64_t kRowBlock = 256;

int64_t ceil_div(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

class Matmul {
 public:
  explicit Matmul(const Operation& operation)
      : operation_(operation),
        workload_(operation.workload),
        rows_(workload_.matrix_rows()),
        columns_(workload_.output.c),
        depth_(workload_.reduction_size()),
        row_(ceil_div(depth_, kDotUnit) * kDotUnit) {}

  void run() {
    const int64_t row_blocks = ceil_div(rows_, kRowBlock), column_blocks = ceil_div(columns_, kColumnBlock);
    parallel_for(workload_.batch * row_blocks * column_blocks, [&](int64_t index) {
      run_block(index / column_blocks / row_blocks, index / column_blocks % row_blocks * kRowBlock,
                index % column_blocks * kColumnBlock);
    });
  }

 private:
  void run_block(int64_t item, int64_t first_row, int64_t first_column) const {
    const int64_t columns = std::min(kColumnBlock, columns_ - first_column);
    std::vector<int16_t> b(static_cast<size_t>(ceil_div(columns, 4) * 4 * row_), 0);
    for (int64_t i = 0; i < columns; ++i) read_column(item, first_column + i, &b[static_cast<size_t>(i * row_)]);
    std::vector<int16_t> a(static_cast<size_t>(row_), 0);
    const int64_t end = std::min(rows_, first_row + kRowBlock);
    for (int64_t row = first_row; row < end; ++row) {
      const int64_t at = TensorView(workload_.inputs[0]).at(item * rows_ + row, 0, 0, 0);
      read(0, at, 1, a.data());
      int32_t sums[kColumnBlock];
      for (int64_t i = 0; i < columns; i += 4) dot_rows(a.data(), 1, &b[static_cast<size_t>(i * row_)], row_, sums + i);
      write(item * rows_ + row, first_column, columns, sums);
    }
  }

  void read_column(int64_t item, int64_t column, int16_t* to) const {
    const TensorView view(workload_.inputs[1]);
    if (workload_.transposed) {
      read(1, view.at(item * columns_ + column, 0, 0, 0), 1, to);
    } else {
      read(1, view.at(item * depth_, 0, 0, column), view.stride_n, to);
    }
  }

  /// K codes of input `input` from element `from` on, less its zero point.
  void read(size_t input, int64_t from, int64_t stride, int16_t* to) const {
    const int32_t zero_point = operation_.s32(input == 0 ? "a_zero_point" : "b_zero_point");
    with_code_type(workload_.inputs[input].dtype, [&](auto code) {
      const auto* codes = operation_.inputs[input]->as<decltype(code)>().data() + from;
      for (int64_t k = 0; k < depth_; ++k) to[k] = static_cast<int16_t>(codes[k * stride] - zero_point);
    });
  }

  void write(int64_t row, int64_t first_column, int64_t columns, const int32_t* sums) const {
    const int64_t at = TensorView(workload_.output).at(row, 0, 0, first_column);
    if (workload_.output.dtype == DType::s32) {
      std::copy_n(sums, columns, operation_.output.as<int32_t>().data() + at);
      return;
    }
    const float multiplier = operation_.f32("multiplier"), lo = operation_.f32("lo"), hi = operation_.f32("hi");
    const int32_t zero_point = operation_.s32("y_zero_point");
    uint8_t* to = operation_.output.as<uint8_t>().data() + at;
    for (int64_t i = 0; i < columns; ++i) {
      const float scaled = static_cast<float>(sums[i]) * multiplier;
      to[i] = static_cast<uint8_t>(round_to_int(clamp_float(scaled, lo, hi)) + zero_point);
    }
  }

  const Operation& operation_;
  const Workload& workload_;
  int64_t rows_, columns_, depth_, row_;
};

}  // namespace

void run_matmul(const Operation& operation) { Matmul(operation).run(); }

}  // namespace warpwright
