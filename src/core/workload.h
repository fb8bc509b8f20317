// Workload: what changes the generated code of an operator or its legality. Never names, never values.
//
// Values (weights, multipliers, zero points, bounds, tables) travel beside it as `Values`, by the names given at each
// OpKind. Notation: rne = round half to even in float32, fl = one IEEE float32 rounding, clamp(v, lo, hi) =
// fmin(fmax(v, lo), hi). lo and hi are integer-valued float32 bounds on the centred code (code - zero point).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/dtype.h"
#include "src/core/json.h"
#include "src/core/map.h"
#include "src/core/movement.h"
#include "src/core/tensor.h"

namespace warpwright {

enum class OpKind {
  // y[n,p,q,k] over x[n,h,w,c]; acc = sum (x - x_zero_point) * (w - weight_zero_point[k]), int32, wrapping; padding
  // counts as x_zero_point, that is 0. `dense` is the same with h = w = kernel = 1, n = rows, c = K.
  // Values: weights s8|u8 [K][kernel_h][kernel_w][C/groups]; x_zero_point s32[1]; weight_zero_point s32 [1] or [K]
  // (absent when the form is zero); bias s32[K] (epilogue.bias); multiplier f32[K]; y_zero_point s32[1]; pad_code.
  //   residual none:      y = rne(clamp(fl(float(acc + bias) * multiplier[k]), lo, hi)) + y_zero_point
  //   residual rounded:   d = rne(clamp(fl(float(acc + bias) * multiplier[k]), lo, hi))
  //                       v = fl(fl(d * conv_scale) + fl(float(r - residual_zero_point) * residual_scale))
  //   residual unrounded: v = fl(fl(float(acc + bias) * multiplier[k]) + fl(float(r - residual_zero_point) *
  //                       residual_scale)), where multiplier[k] = fl(x_scale * w_scale[k]); lo and hi are absent
  //   both:               y = rne(clamp(fl(v / y_scale), sum_lo, sum_hi)) + y_zero_point
  //   table:              finally y = table[y & 255]; y before it has the type epilogue.table_input
  // An s32 output asks for the accumulators: y = acc + bias, wrapping; multiplier, y_zero_point and bounds are absent,
  // there is neither residual nor table, and epilogue.table_input is s32.
  // Scalars lo, hi, conv_scale, residual_scale, y_scale, sum_lo, sum_hi: f32[1]; residual_zero_point: s32[1];
  // table: u8[256], output codes as raw bytes.
  conv2d,
  dense,
  // y[i,m,n] of two inputs a and b, both codes, for each of `batch` matrices:
  // acc = sum over k of (a[i,m,k] - a_zero_point) * (b[i,k,n] - b_zero_point), int32, wrapping;
  // y = rne(clamp(fl(float(acc) * multiplier), lo, hi)) + y_zero_point, or acc for an s32 output.
  // The matrices of a batch lie one behind the other: a has n = batch * M, c = K; y has n = batch * M, c = N; b has
  // n = batch * K, c = N or, transposed, n = batch * N, c = K; h = w = 1. One b for all of a is batch = 1.
  // Values: a_zero_point, b_zero_point s32[1]; multiplier, lo, hi f32[1]; y_zero_point s32[1]; pad_code. An s32 output
  // has no multiplier, bounds and y_zero_point.
  matmul,
  // f32 -> code: rne(clamp(fl(x / scale), lo, hi)) + zero_point (NaN gives lo). Values: scale, lo, hi, zero_point,
  // pad_code.
  quantize,
  // code -> f32: fl(float(x - zero_point) * scale). Values: scale, zero_point.
  dequantize,
  // code -> code by table[x & 255]. Values: table u8[256], pad_code.
  lookup,
  // y = rne(clamp(fl(v / y_scale), lo, hi)) + y_zero_point with da = fl(float(a - a_zero_point) * a_scale), db alike;
  // add: v = fl(da + db), mul: v = fl(da * db). An input extent of 1 broadcasts (n, h, w, c each).
  // Values: a_scale, a_zero_point, b_scale, b_zero_point, y_scale, lo, hi, y_zero_point, pad_code.
  add,
  mul,
  // Largest code of the window; padding is ignored. Values: pad_code.
  max_pool,
  // s = sum of (x - x_zero_point) over the window's positions inside the image, int32; count = number of these, or,
  // with count_include_pad, of the positions inside the padded image;
  // y = rne(clamp(fl(float(s) * fl(x_scale / fl(y_scale * float(count)))), lo, hi)) + y_zero_point.
  // Values: x_scale, x_zero_point, y_scale, lo, hi, y_zero_point, pad_code.
  average_pool,
  // Codes of the inputs one behind the other along channels. Values: pad_code.
  concat,
  // The same elements in NCHW-linear order under another layout or shape (layout change, flatten, reshape); one type
  // throughout, codes or s32. Values: pad_code (only for an nhwc output).
  layout,
  // y[e] = x[start + sum of i_k * step_k] where first_k <= i_k < last_k on all axes of `movement`, else fill. e and the
  // source count elements in NCHW-linear order; the i_k are the digits of e by the axes' extents, the last the fastest.
  // One type throughout: codes, s32, or any type in nchw. Values: fill s32[1], or f32[1] of f32 (absent when nothing is
  // filled); pad_code (only for an nhwc output).
  move,

  // Float32 kinds. All their tensors are nchw, so elements in linear order; where no formula names n, c, h and w, the
  // extents are of no further meaning. Every result is defined to the last bit: fl is one rounding, fma(a, b, c) =
  // fl(a * b + c), sums run in the order given, starting with +0, subnormal numbers are kept. So every Config of every
  // family gives the same bits. The one exception is NaN: all of them count as one value, here and in every comparison.

  // y[n,k,p,q] = sum over c, then i, then j (all taps in this order) of fma(x, w, sum); padding counts as +0 and takes
  // part; then fl(sum + bias[k]) if epilogue.bias. Window, groups and extents as in conv2d.
  // Values: weights f32 [K][C/groups][kernel_h][kernel_w], bias f32[K].
  real_conv2d,
  // y[i,m,n] = sum over k in order of fma(a[i,m,k], b[i,k,n], sum), then fl(sum + bias[n]) if epilogue.bias, for each
  // of `batch` matrices. a has n = batch * M, c = K; b has n = batch * K, c = N or, transposed, n = batch * N, c = K;
  // y has n = batch * M, c = N; h = w = 1. One b for all of a is batch = 1. b is the second input or, with one input,
  // the value weights f32 (batch * K * N elements in the same order). Values: weights, bias f32[N].
  real_matmul,
  // Element by element: see core/map.h. Input i has the type of the operand number i that is no constant and at least
  // the elements that it reads; any types. Values: constant0, constant1, ... for the operands that are constants, in
  // order, each of just the elements that it reads.
  map,
  // x as [outer, length, inner], y as [outer, inner]. sum, mean, sum_square, sum_abs and product (`reduction`) run over
  // 32 lanes where inner is 1: part[l] takes l, l + 32, ... in order, then for d = 16, 8, 4, 2, 1 part[l] = part[l] op
  // part[l + d] for l < d; elsewhere one lane in order. A part begins as +0 (product: 1) and takes an element by
  // fl(part + x), mean alike, fma(x, x, part), fl(part + |x|), fl(part * x); op is + (product: *). At the end
  // mean = fl(sum / float(length)).
  // max, min: NaN if there is one; among zeros max takes +0, min takes -0. arg_max, arg_min (s64 y): first index of the
  // largest (smallest), last with select_last; NaN is larger than all for arg_max and smaller than all for arg_min.
  // x is f32 or s32, y alike; s32 wraps around and has no mean.
  reduce,
  // x and y as [outer, length, inner]: m = the reduction max over length; e = exp(fl(x - m)); s = the reduction sum of
  // e; y = fl(e / s), or with logarithm y = fl(fl(x - m) - log(s)). exp and log: core/real_functions.h.
  softmax,
  // x and y as [outer, length]: mean = the reduction mean (+0 unless centered), d = fl(x - mean), v = fl(the reduction
  // sum_square of d / float(length)), r = fl(1 / fl(sqrt(fl(v + epsilon)))); with epilogue.bias
  // y = fma(fl(d * r), scale[i], bias[i]) at place i of the row, else y = fl(fl(d * r) * scale[i]).
  // Values: epsilon f32[1], scale f32[length], bias f32[length].
  normalize,
  // Largest of the window (max of `reduce`); padding is ignored; a window without an element gives -infinity.
  real_max_pool,
  // fl(sum / float(count)), the sum by fl(sum + x) over the window's positions inside the image, row by row; count as
  // in average_pool, at least 1.
  real_average_pool,
  // y[n,c,p,q] = sum over i < h_taps of fma(h_weight[p,i], r[i], sum), r[i] = sum over j < w_taps of
  // fma(w_weight[q,j], x[n,c,h_index[p,i],w_index[q,j]], sum). Values: h_index s32[H' * h_taps], h_weight f32 alike;
  // w_index s32[W' * w_taps], w_weight alike; all indices lie inside the image.
  resample,
  // y[o,j,i] = x[o, index[j], i] of x as [outer, length, inner]; a negative index counts from the end; one out of range
  // gives 0. index is the last input, s32 or s64. x is any type, the first of two inputs or, with one input, the value
  // `table` (outer * length * inner elements of the type of y).
  gather,
  // Inputs as [outer, lengths[k], inner], one behind the other along length. One type throughout, any.
  join,
};

enum class Layout {
  nchw,  // dense, no padding
  nhwc,  // pixel_stride elements from pixel to pixel; lanes beyond the channels hold pad_code (of an s32 tensor: 0)
};

enum class ZeroPointForm { zero, scalar, per_channel };
enum class ResidualForm { none, rounded, unrounded };

/// One tensor as a kernel sees it. A matrix [rows, columns] has n = rows, c = columns, h = w = 1.
struct TensorForm {
  DType dtype = DType::s8;
  Layout layout = Layout::nhwc;
  int64_t n = 1, h = 1, w = 1, c = 1;
  int64_t pixel_stride = 0;    // nhwc only, else 0
  int64_t channel_offset = 0;  // nhwc only: first lane of this tensor within a pixel

  int64_t pixels() const { return n * h * w; }
  /// Elements of the buffer that holds it, pad lanes included.
  int64_t buffer_elements() const;
  int64_t buffer_bytes() const;
  bool operator==(const TensorForm&) const = default;
};

struct Window {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool operator==(const Window&) const = default;
};

struct Epilogue {
  bool bias = false;
  ResidualForm residual = ResidualForm::none;
  bool table = false;
  DType table_input = DType::s8;  // type of the code before the table; equals the output's type without a table
  bool operator==(const Epilogue&) const = default;
};

/// What a `reduce` makes of a row.
enum class ReductionOp { sum, mean, max, min, product, sum_square, sum_abs, arg_max, arg_min };

/// How a float32 kind sees its linear tensors: [outer, length, inner].
struct Rows {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t elements() const { return outer * length * inner; }
  bool operator==(const Rows&) const = default;
};

struct Workload {
  OpKind kind = OpKind::conv2d;
  std::vector<TensorForm> inputs;  // x [, residual] | x | a, b | parts
  TensorForm output;
  // conv2d, dense and real_conv2d (groups and the epilogue's bias)
  int64_t groups = 1;
  DType weight_dtype = DType::s8;
  ZeroPointForm x_zero_point = ZeroPointForm::zero;  // zero or scalar
  ZeroPointForm weight_zero_point = ZeroPointForm::zero;
  Epilogue epilogue;  // of real_conv2d, real_matmul and normalize: only bias
  // matmul, with the zero-point forms of a (x_zero_point) and b (weight_zero_point), zero or scalar each
  int64_t batch = 1;        // real_matmul too
  bool transposed = false;  // real_matmul too
  // convolutions and pools
  Window window;
  bool count_include_pad = false;            // average_pool, real_average_pool
  Movement movement;                         // move
  Map map;                                   // map
  Rows rows;                                 // reduce, softmax, normalize, gather, join (length: of all parts)
  ReductionOp reduction = ReductionOp::sum;  // reduce
  bool select_last = false;                  // reduce: arg_max, arg_min
  bool logarithm = false;                    // softmax
  bool centered = true;                      // normalize
  int64_t h_taps = 1, w_taps = 1;            // resample
  std::vector<int64_t> lengths;              // join

  bool operator==(const Workload&) const = default;

  bool is_matrix_product() const { return kind == OpKind::conv2d || kind == OpKind::dense; }
  bool is_depthwise() const;       // conv2d with one input channel a group and more than one group
  bool is_real() const;            // one of the float32 kinds
  int64_t reduction_size() const;  // kernel_h * kernel_w * C / groups of a convolution or dense, K of a matmul
  int64_t multiply_adds() const;   // of a convolution, dense or matmul; 0 for others
  int64_t matrix_rows() const { return output.n / batch; }  // M of a matmul, real or not
  /// Short text for tables, e.g. `conv2d 1x56x56x64 -> 256 k1 s1`.
  std::string summary() const;
};

/// Constants of one operator by the names documented at its OpKind.
using Values = std::map<std::string, Tensor>;

std::string_view name(OpKind kind);
std::string_view name(ReductionOp op);
OpKind op_kind_from_name(std::string_view text);

/// Canonical JSON: sorted keys, only the fields that the kind uses. The same function serves tune and build.
Json to_json(const Workload& workload);
/// Throws UsageError on anything that to_json would not have written.
Workload workload_from_json(const Json& json);
/// `w1-` and 32 hexadecimal digits of the hash of the canonical JSON.
std::string key(const Workload& workload);

/// Throws InternalError unless shapes, windows and types fit together and every value the kind needs is there with its
/// type and length.
void check(const Workload& workload);
void check(const Workload& workload, const Values& values);

/// Lanes of a pixel that hold `channels`: 4 up to 4 channels, else the next multiple of 16.
int64_t padded_channels(int64_t channels);
/// Whether whoever writes this nhwc tensor fills the lanes beyond its channels with pad_code. False for a slice of
/// wider pixels: its other lanes belong to other tensors, and no kernel touches them.
bool owns_pad_lanes(const TensorForm& form);

/// Forms with the pixel stride of the project's own layout.
TensorForm nhwc_form(DType dtype, int64_t n, int64_t h, int64_t w, int64_t c);
TensorForm nchw_form(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w);

}  // namespace warpwright
