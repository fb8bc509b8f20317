// Workloads of real_conv2d and real_matmul for the tests of their families.
#include "tests/search_space/real_products.h"

#include "tests/reference/examples/workloads.h"

namespace warpwright::testing {

namespace {

int64_t extent(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t dilation, int64_t stride) {
  return (size + before + after - (kernel - 1) * dilation - 1) / stride + 1;
}

TensorForm matrix(int64_t rows, int64_t columns) { return nchw_form(DType::f32, rows, columns, 1, 1); }

}  // namespace

Workload real_conv2d_workload(const std::array<int64_t, 4>& x, int64_t outputs, int64_t groups, const Window& window,
                              bool bias) {
  Workload workload;
  workload.kind = OpKind::real_conv2d;
  workload.inputs = {nchw_form(DType::f32, x[0], x[1], x[2], x[3])};
  const int64_t p =
      extent(x[2], window.pad_top, window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h);
  const int64_t q =
      extent(x[3], window.pad_left, window.pad_right, window.kernel_w, window.dilation_w, window.stride_w);
  workload.output = nchw_form(DType::f32, x[0], outputs, p, q);
  workload.groups = groups;
  workload.window = window;
  workload.epilogue.bias = bias;
  return workload;
}

Workload real_matmul_workload(const MatmulShape& shape, bool transposed, bool weights, bool bias) {
  Workload workload;
  workload.kind = OpKind::real_matmul;
  workload.inputs = {matrix(shape.batch * shape.rows, shape.depth)};
  if (!weights) {
    workload.inputs.push_back(transposed ? matrix(shape.batch * shape.columns, shape.depth)
                                         : matrix(shape.batch * shape.depth, shape.columns));
  }
  workload.output = matrix(shape.batch * shape.rows, shape.columns);
  workload.batch = shape.batch;
  workload.transposed = transposed;
  workload.epilogue.bias = bias;
  return workload;
}

std::vector<Workload> awkward_real_convolutions() {
  Window along{.kernel_w = 5, .stride_w = 2, .pad_left = 4};  // 1-D, causal
  Window uneven{.kernel_h = 3, .kernel_w = 2, .stride_h = 2, .pad_top = 1, .pad_right = 3};
  Window tall{
      .kernel_h = 7, .kernel_w = 5, .dilation_h = 2, .pad_top = 6, .pad_left = 2, .pad_bottom = 6, .pad_right = 2};
  return {
      real_conv2d_workload({1, 16, 8, 8}, 24, 1, square_window(1, 1, 0)),
      real_conv2d_workload({3, 19, 7, 7}, 13, 1, square_window(1, 1, 0), false),
      real_conv2d_workload({2, 8, 9, 11}, 20, 1, square_window(1, 2, 0)),
      real_conv2d_workload({1, 5, 6, 6}, 7, 1, square_window(1, 1, 1)),
      real_conv2d_workload({2, 3, 17, 15}, 16, 1, square_window(3, 2, 1)),
      real_conv2d_workload({1, 20, 14, 14}, 33, 1, square_window(3, 1, 1)),
      real_conv2d_workload({1, 1, 12, 12}, 6, 1, square_window(5, 1, 2), false),
      real_conv2d_workload({1, 4, 13, 13}, 8, 1, square_window(3, 1, 4, 4)),
      real_conv2d_workload({1, 3, 23, 23}, 10, 1, square_window(7, 2, 3)),
      real_conv2d_workload({2, 4, 11, 9}, 6, 1, tall),
      real_conv2d_workload({1, 6, 10, 7}, 4, 1, uneven, false),
      real_conv2d_workload({2, 10, 1, 40}, 12, 1, along),
      real_conv2d_workload({1, 32, 6, 10}, 48, 4, square_window(3, 1, 1)),
      real_conv2d_workload({1, 12, 5, 5}, 24, 12, square_window(3, 1, 1)),
      real_conv2d_workload({2, 9, 16, 16}, 9, 9, square_window(3, 2, 1)),
      real_conv2d_workload({1, 8, 12, 20}, 8, 8, square_window(5, 1, 2), false),
      real_conv2d_workload({1, 6, 9, 12}, 12, 3, square_window(3, 1, 2, 2)),
      real_conv2d_workload({1, 7, 1, 30}, 7, 7, along, false),
      real_conv2d_workload({2, 40, 1, 1}, 10, 1, square_window(1, 1, 0)),
      real_conv2d_workload({1, 2, 4, 4}, 3, 1, square_window(4, 1, 0)),
  };
}

std::vector<Workload> awkward_real_matmuls() {
  std::vector<Workload> workloads;
  const MatmulShape shapes[] = {{1, 32, 64, 48}, {1, 1, 100, 40}, {1, 37, 51, 1},  {3, 17, 23, 30},
                                {2, 5, 1, 9},    {1, 1, 7, 1},    {1, 70, 33, 66}, {4, 12, 16, 20}};
  for (const MatmulShape& shape : shapes) {
    for (const bool transposed : {false, true}) {
      workloads.push_back(real_matmul_workload(shape, transposed, true, transposed != (shape.batch > 1)));
      workloads.push_back(real_matmul_workload(shape, transposed, false, shape.rows % 2 == 0));
    }
  }
  return workloads;
}

std::vector<Workload> typical_real_products() {
  return {real_matmul_workload({1, 1024, 1024, 1024}, false, true),
          real_matmul_workload({1, 1024, 1024, 1024}, false, false),
          real_matmul_workload({1, 128, 768, 3072}, false, true, true),
          real_matmul_workload({12, 128, 64, 128}, true, false),
          real_matmul_workload({12, 128, 128, 64}, false, false),
          real_matmul_workload({1, 1, 2048, 1000}, false, true, true),
          real_conv2d_workload({1, 3, 224, 224}, 64, 1, square_window(7, 2, 3)),
          real_conv2d_workload({1, 64, 56, 56}, 64, 1, square_window(3, 1, 1)),
          real_conv2d_workload({1, 64, 56, 56}, 256, 1, square_window(1, 1, 0)),
          real_conv2d_workload({1, 512, 7, 7}, 512, 1, square_window(3, 1, 1)),
          real_conv2d_workload({1, 2048, 7, 7}, 512, 1, square_window(1, 1, 0)),
          real_conv2d_workload({1, 96, 112, 112}, 96, 96, square_window(3, 2, 1)),
          real_conv2d_workload({1, 144, 56, 56}, 144, 144, square_window(3, 1, 1)),
          real_conv2d_workload({1, 960, 7, 7}, 960, 960, square_window(5, 1, 2)),
          real_conv2d_workload({1, 128, 56, 56}, 128, 32, square_window(3, 1, 1))};
}

}  // namespace warpwright::testing
