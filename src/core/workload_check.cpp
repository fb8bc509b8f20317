// Checks of Workloads and of the Values beside them: whatever passes here, reference and families can rely on.
#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "src/core/error.h"
#include "src/core/workload.h"
#include "src/core/workload_check.h"

namespace warpwright {

namespace {

constexpr int64_t kMostExtent = int64_t{1} << 31;
constexpr int64_t kMostElements = int64_t{1} << 40;

void check_form(const TensorForm& form, const char* which) {
  for (int64_t extent : {form.n, form.h, form.w, form.c}) {
    require(extent >= 1 && extent <= kMostExtent, fmt::format("{}: extent {} is out of range", which, extent));
  }
  __int128 lanes = form.c;
  if (form.layout == Layout::nhwc) {
    require(form.channel_offset >= 0 && form.pixel_stride >= 1 && form.pixel_stride <= kMostExtent &&
                form.channel_offset <= form.pixel_stride - form.c,
            fmt::format("{}: {} channels from lane {} do not fit a pixel stride of {}", which, form.c,
                        form.channel_offset, form.pixel_stride));
    require(form.pixel_stride % 4 == 0 && form.channel_offset % 4 == 0,
            fmt::format("{}: pixel stride and channel offset must be multiples of 4", which));
    lanes = form.pixel_stride;
  } else {
    require(form.pixel_stride == 0 && form.channel_offset == 0, fmt::format("{}: nchw has no pixel stride", which));
  }
  __int128 elements = lanes * form.n * form.h;
  require(elements <= kMostElements && elements * form.w <= kMostElements,
          fmt::format("{}: the tensor is too large", which));
}

void check_codes(const TensorForm& form, const char* which) {
  require(is_code(form.dtype), fmt::format("{}: must be s8 or u8", which));
  require(form.layout == Layout::nhwc, fmt::format("{}: must be nhwc", which));
}

void check_same_extents(const TensorForm& a, const TensorForm& b) {
  require(a.n == b.n && a.h == b.h && a.w == b.w && a.c == b.c, "extents differ");
}

/// Codes, or accumulators.
void check_product_output(const TensorForm& form) {
  require(is_code(form.dtype) || form.dtype == DType::s32, "output: must be s8, u8 or s32");
  require(form.layout == Layout::nhwc, "output: must be nhwc");
}

void check_matmul(const Workload& workload) {
  require(workload.inputs.size() == 2, "a matmul has two inputs");
  const TensorForm& a = workload.inputs[0];
  const TensorForm& b = workload.inputs[1];
  const TensorForm& y = workload.output;
  check_codes(a, "a");
  check_codes(b, "b");
  check_product_output(y);
  require(
      workload.x_zero_point != ZeroPointForm::per_channel && workload.weight_zero_point != ZeroPointForm::per_channel,
      "a and b have one zero point each");
  check_matmul_extents(workload);
}

void check_matrix_product(const Workload& workload) {
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  const Epilogue& epilogue = workload.epilogue;
  check_codes(x, "x");
  check_product_output(y);
  require(is_code(workload.weight_dtype), "weights must be s8 or u8");
  require(workload.x_zero_point != ZeroPointForm::per_channel, "x has one zero point");
  require(workload.groups >= 1 && x.c % workload.groups == 0 && y.c % workload.groups == 0,
          fmt::format("{} groups do not divide the channels", workload.groups));
  require(workload.inputs.size() == (epilogue.residual == ResidualForm::none ? 1u : 2u),
          "inputs are x and, with a residual, the residual");
  if (epilogue.residual != ResidualForm::none) {
    check_codes(workload.inputs[1], "residual");
    check_same_extents(workload.inputs[1], y);
  }
  if (y.dtype == DType::s32) {
    require(epilogue.residual == ResidualForm::none && !epilogue.table && epilogue.table_input == DType::s32,
            "accumulators have neither residual nor table");
  } else {
    require(is_code(epilogue.table_input) && (epilogue.table || epilogue.table_input == y.dtype),
            "table_input must equal the output's type without a table");
  }
  if (workload.kind == OpKind::dense) {
    require(x.h == 1 && x.w == 1 && y.h == 1 && y.w == 1 && x.n == y.n && workload.groups == 1 &&
                workload.window == Window{},
            "a dense Workload has one row a batch");
    return;
  }
  check_convolution_window(workload);
}

void check_broadcast(const Workload& workload) {
  require(workload.inputs.size() == 2, "add and mul have two inputs");
  check_codes(workload.output, "output");
  for (const TensorForm& input : workload.inputs) {
    check_codes(input, "input");
    const TensorForm& y = workload.output;
    require((input.n == y.n || input.n == 1) && (input.h == y.h || input.h == 1) && (input.w == y.w || input.w == 1) &&
                (input.c == y.c || input.c == 1),
            "an input does not broadcast to the output");
  }
}

void check_movement(const Workload& workload) {
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  require(is_code(x.dtype) || x.layout == Layout::nchw || x.dtype == DType::s32, "only codes and s32 move in nhwc");
  require(is_code(y.dtype) || y.layout == Layout::nchw || y.dtype == DType::s32, "only codes and s32 move to nhwc");
  require(x.dtype == y.dtype, "a movement keeps the type");
  check(workload.movement, x.pixels() * x.c, y.pixels() * y.c);
}

void check_light(const Workload& workload) {
  const TensorForm& y = workload.output;
  if (workload.kind == OpKind::add || workload.kind == OpKind::mul) return check_broadcast(workload);
  if (workload.kind == OpKind::concat) {
    int64_t channels = 0;
    check_codes(y, "output");
    for (const TensorForm& input : workload.inputs) {
      check_codes(input, "input");
      require(input.dtype == y.dtype && input.n == y.n && input.h == y.h && input.w == y.w,
              "the parts of a concat differ");
      channels += input.c;
    }
    require(!workload.inputs.empty() && channels == y.c, "the channels of a concat do not add up");
    return;
  }
  require(workload.inputs.size() == 1, "this kind has one input");
  const TensorForm& x = workload.inputs[0];
  switch (workload.kind) {
    case OpKind::quantize:
      check_codes(y, "output");
      require(x.dtype == DType::f32 && x.layout == Layout::nchw, "quantize reads f32 in nchw");
      return check_same_extents(x, y);
    case OpKind::dequantize:
      check_codes(x, "x");
      require(y.dtype == DType::f32 && y.layout == Layout::nchw, "dequantize writes f32 in nchw");
      return check_same_extents(x, y);
    case OpKind::lookup:
      check_codes(x, "x");
      check_codes(y, "output");
      return check_same_extents(x, y);
    case OpKind::layout:
      require((is_code(x.dtype) || x.dtype == DType::s32) && x.dtype == y.dtype, "layout keeps one type, codes or s32");
      require(x.pixels() * x.c == y.pixels() * y.c, "layout keeps the number of elements");
      return;
    case OpKind::move:
      return check_movement(workload);
    default:  // pools
      check_codes(x, "x");
      check_codes(y, "output");
      require(x.c == y.c, "a pool keeps the channels");
      require(workload.kind == OpKind::average_pool || x.dtype == y.dtype, "max_pool keeps the type");
      return check_window(workload);
  }
}

void check_product_values(const Workload& workload, ValueCheck& values) {
  const int64_t channels = workload.output.c;
  const Epilogue& epilogue = workload.epilogue;
  values.take("weights", workload.weight_dtype, channels * workload.reduction_size());
  values.zero_point("x_zero_point", workload.inputs[0].dtype);
  require(workload.x_zero_point != ZeroPointForm::zero || values.integer("x_zero_point") == 0,
          "x_zero_point must be 0 in the zero form");
  if (workload.weight_zero_point != ZeroPointForm::zero) {
    int64_t length = workload.weight_zero_point == ZeroPointForm::scalar ? 1 : channels;
    for (int32_t value : values.take("weight_zero_point", DType::s32, length).as<int32_t>()) {
      require(value >= code_min(workload.weight_dtype) && value <= code_max(workload.weight_dtype),
              "weight_zero_point is no code of the weights");
    }
  }
  if (epilogue.bias) values.take("bias", DType::s32, channels);
  if (workload.output.dtype == DType::s32) return;
  for (float value : values.take("multiplier", DType::f32, channels).as<float>()) {
    require(std::isfinite(value), "value 'multiplier' must be finite");
  }
  values.zero_point("y_zero_point", epilogue.table_input);
  const std::pair<DType, int32_t> code{epilogue.table_input, values.integer("y_zero_point")};
  if (epilogue.residual == ResidualForm::none) values.bounds("lo", "hi", code);
  if (epilogue.residual == ResidualForm::rounded) {
    values.bounds("lo", "hi");
    values.scale("conv_scale");
  }
  if (epilogue.residual != ResidualForm::none) {
    values.scale("residual_scale");
    values.zero_point("residual_zero_point", workload.inputs[1].dtype);
    values.scale("y_scale");
    values.bounds("sum_lo", "sum_hi", code);
  }
  if (epilogue.table) values.take("table", DType::u8, 256);
}

void check_matmul_values(const Workload& workload, ValueCheck& values) {
  values.zero_point("a_zero_point", workload.inputs[0].dtype);
  values.zero_point("b_zero_point", workload.inputs[1].dtype);
  require((workload.x_zero_point != ZeroPointForm::zero || values.integer("a_zero_point") == 0) &&
              (workload.weight_zero_point != ZeroPointForm::zero || values.integer("b_zero_point") == 0),
          "a zero point must be 0 in the zero form");
  const DType out = workload.output.dtype;
  if (out == DType::s32) return;
  require(std::isfinite(values.take("multiplier", DType::f32, 1).as<float>()[0]), "value 'multiplier' must be finite");
  values.zero_point("y_zero_point", out);
  values.bounds("lo", "hi", std::pair{out, values.integer("y_zero_point")});
}

void check_fill(const Workload& workload, ValueCheck& values) {
  const DType dtype = workload.output.dtype;
  if (!workload.movement.fills()) return;
  if (is_code(dtype)) {
    values.zero_point("fill", dtype);
  } else if (dtype == DType::boolean) {
    values.take("fill", DType::s32, 1);
    require(values.integer("fill") == 0 || values.integer("fill") == 1, "a boolean fill is 0 or 1");
  } else {
    values.take("fill", dtype == DType::f32 ? DType::f32 : DType::s32, 1);
  }
}

void check_requantization(const Workload& workload, ValueCheck& values) {
  values.scale("y_scale");
  values.zero_point("y_zero_point", workload.output.dtype);
  values.bounds("lo", "hi", std::pair{workload.output.dtype, values.integer("y_zero_point")});
}

}  // namespace

void require(bool condition, const std::string& what) {
  if (!condition) throw InternalError(what);
}

void check_window(const Workload& workload) {
  const Window& window = workload.window;
  for (int64_t value :
       {window.kernel_h, window.kernel_w, window.stride_h, window.stride_w, window.dilation_h, window.dilation_w}) {
    require(value >= 1 && value <= 1 << 16, fmt::format("window value {} is out of range", value));
  }
  for (int64_t value : {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}) {
    require(value >= 0 && value <= 1 << 16, fmt::format("padding {} is out of range", value));
  }
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  // The last window may begin anywhere inside the padded image (ceil_mode), never beyond it.
  require((y.h - 1) * window.stride_h < x.h + window.pad_top + window.pad_bottom &&
              (y.w - 1) * window.stride_w < x.w + window.pad_left + window.pad_right,
          "a window begins beyond the padded image");
  require(x.n == y.n, "batches differ");
}

void check_convolution_window(const Workload& workload) {
  check_window(workload);
  const Window& window = workload.window;
  const TensorForm& x = workload.inputs[0];
  const TensorForm& y = workload.output;
  auto extent = [](int64_t in, int64_t pad, int64_t kernel, int64_t dilation, int64_t stride) {
    int64_t span = in + pad - dilation * (kernel - 1) - 1;
    return span < 0 ? int64_t{0} : span / stride + 1;
  };
  require(
      y.h == extent(x.h, window.pad_top + window.pad_bottom, window.kernel_h, window.dilation_h, window.stride_h) &&
          y.w == extent(x.w, window.pad_left + window.pad_right, window.kernel_w, window.dilation_w, window.stride_w),
      "the output extents do not follow from the window");
}

void check_matmul_extents(const Workload& workload) {
  const TensorForm& a = workload.inputs[0];
  const TensorForm& y = workload.output;
  const auto check_matrices = [&](const TensorForm& form) {
    require(form.h == 1 && form.w == 1, "a matmul has matrices: h and w are 1");
    require(workload.batch >= 1 && form.n % workload.batch == 0,
            fmt::format("a batch of {} does not divide the rows", workload.batch));
  };
  for (const TensorForm& input : workload.inputs) check_matrices(input);
  check_matrices(y);
  require(a.n == y.n, "a and the output of a matmul have as many rows");
  if (workload.inputs.size() == 1) return;
  const TensorForm& b = workload.inputs[1];
  const int64_t b_rows = b.n / workload.batch;
  require(a.c == (workload.transposed ? b.c : b_rows) && y.c == (workload.transposed ? b_rows : b.c),
          "the extents of a, b and the output of a matmul differ");
}

void check(const Workload& workload) {
  require(!workload.inputs.empty() && workload.inputs.size() <= 64, "a Workload has 1 to 64 inputs");
  for (const TensorForm& input : workload.inputs) check_form(input, "input");
  check_form(workload.output, "output");
  if (workload.kind != OpKind::map) {
    for (const TensorForm& input : workload.inputs) require(input.dtype != DType::f16, "f16 is for maps alone");
    require(workload.output.dtype != DType::f16, "f16 is for maps alone");
  }
  if (workload.is_matrix_product()) {
    check_matrix_product(workload);
  } else if (workload.kind == OpKind::matmul) {
    check_matmul(workload);
  } else if (workload.is_real()) {
    check_real(workload);
  } else {
    check_light(workload);
  }
}

void check(const Workload& workload, const Values& map) {
  check(workload);
  ValueCheck values(map);
  const DType out = workload.output.dtype;
  switch (workload.kind) {
    case OpKind::conv2d:
    case OpKind::dense:
      check_product_values(workload, values);
      break;
    case OpKind::matmul:
      check_matmul_values(workload, values);
      break;
    case OpKind::quantize:
      values.scale("scale");
      values.zero_point("zero_point", out);
      values.bounds("lo", "hi", std::pair{out, values.integer("zero_point")});
      break;
    case OpKind::dequantize:
      values.scale("scale");
      values.zero_point("zero_point", workload.inputs[0].dtype);
      break;
    case OpKind::lookup:
      values.take("table", DType::u8, 256);
      break;
    case OpKind::add:
    case OpKind::mul:
      for (int side = 0; side < 2; ++side) {
        const std::string prefix = side == 0 ? "a_" : "b_";
        values.scale(prefix + "scale");
        values.zero_point(prefix + "zero_point", workload.inputs[static_cast<size_t>(side)].dtype);
      }
      check_requantization(workload, values);
      break;
    case OpKind::average_pool:
      values.scale("x_scale");
      values.zero_point("x_zero_point", workload.inputs[0].dtype);
      check_requantization(workload, values);
      break;
    case OpKind::move:
      check_fill(workload, values);
      break;
    case OpKind::max_pool:
    case OpKind::concat:
    case OpKind::layout:
      break;
    default:
      check_real_values(workload, values);
  }
  if (workload.output.layout == Layout::nhwc) {
    if (is_code(out)) {
      values.zero_point("pad_code", out);
    } else {
      require(values.take("pad_code", DType::s32, 1).as<int32_t>()[0] == 0, "s32 outputs are padded with 0");
    }
  }
  values.done();
}

}  // namespace warpwright
