// Awkward Workloads of every kind, for tests of whatever computes them.
#pragma once

#include <array>
#include <vector>

#include "src/core/workload.h"

namespace warpwright::testing {

/// Fills the output form of a conv2d from x, the window and `outputs`, in the project's layout.
Workload conv2d_workload(TensorForm x, DType y, int64_t outputs, int64_t groups, Window window);
/// a [batch * rows, depth] by b, transposed or not.
Workload matmul_workload(DType a, DType b, DType y, std::array<int64_t, 4> batch_rows_depth_columns, bool transposed);
Workload dense_workload(DType x, DType y, int64_t rows, int64_t inputs, int64_t outputs);
/// A window with the same numbers in both directions.
Window square_window(int64_t kernel, int64_t stride, int64_t pad, int64_t dilation = 1);

std::vector<Workload> product_workloads();
/// conv2d and dense with s32 outputs.
std::vector<Workload> accumulator_workloads();
std::vector<Workload> matmul_workloads();
std::vector<Workload> light_workloads();

}  // namespace warpwright::testing
