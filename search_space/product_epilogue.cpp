// What the kernels of conv2d and dense share: arguments, requantization, packing of everything but the weights.
#include "search_space/product_epilogue.h"

#include <fmt/format.h>

#include <initializer_list>

#include "search_space/arithmetic.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright {

namespace {

using Role = KernelArgument::Role;

struct Scalar {
  const char* name;
  DType dtype;
};

std::vector<Scalar> epilogue_scalars(const Workload& workload) {
  std::vector<Scalar> scalars;
  if (gives_accumulators(workload)) return scalars;
  const ResidualForm residual = workload.epilogue.residual;
  auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) scalars.push_back({name, DType::f32});
  };
  if (residual != ResidualForm::unrounded) add({"lo", "hi"});
  if (residual == ResidualForm::rounded) add({"conv_scale"});
  if (residual != ResidualForm::none) {
    add({"residual_scale", "y_scale", "sum_lo", "sum_hi"});
    scalars.push_back({"residual_zero_point", DType::s32});
  }
  scalars.push_back({"y_zero_point", DType::s32});
  return scalars;
}

const Tensor& value_of(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) throw InternalError(fmt::format("value '{}' is missing", name));
  return found->second;
}

int32_t code_at(const Tensor& codes, int64_t index) {
  const auto at = static_cast<size_t>(index);
  return codes.dtype == DType::u8 ? static_cast<int32_t>(codes.as<uint8_t>()[at])
                                  : static_cast<int32_t>(codes.as<int8_t>()[at]);
}

/// bias - x_zero_point * sum (w - weight_zero_point): the part of the centred sum that no input changes. Wraps.
int32_t folded_bias(const Workload& workload, const Values& values, int64_t channel) {
  uint32_t bias = 0;
  if (workload.epilogue.bias) {
    bias = static_cast<uint32_t>(value_of(values, "bias").as<int32_t>()[static_cast<size_t>(channel)]);
  }
  const int32_t x_zero_point = value_of(values, "x_zero_point").as<int32_t>()[0];
  if (x_zero_point == 0) return static_cast<int32_t>(bias);
  const Tensor& weights = value_of(values, "weights");
  const int32_t zero_point = weight_zero_point_of(workload, values, channel);
  const int64_t length = workload.reduction_size();
  uint32_t sum = 0;
  for (int64_t i = 0; i < length; ++i)
    sum += static_cast<uint32_t>(code_at(weights, channel * length + i) - zero_point);
  return static_cast<int32_t>(bias - static_cast<uint32_t>(x_zero_point) * sum);
}

}  // namespace

bool gives_accumulators(const Workload& workload) { return workload.output.dtype == DType::s32; }

bool has_bias_argument(const Workload& workload) {
  return workload.epilogue.bias || workload.x_zero_point != ZeroPointForm::zero ||
         workload.weight_zero_point != ZeroPointForm::zero;
}

bool needs_fill(const Workload& workload) {
  const Window& window = workload.window;
  return workload.x_zero_point != ZeroPointForm::zero &&
         (window.pad_top > 0 || window.pad_left > 0 || window.pad_bottom > 0 || window.pad_right > 0);
}

int64_t pad_lanes(const Workload& workload) {
  const TensorForm& y = workload.output;
  return owns_pad_lanes(y) ? y.pixel_stride - y.c : 0;
}

int64_t readable_vector(const TensorForm& form, int64_t most) {
  return common_power_of_two(most, form.pixel_stride, form.channel_offset, owns_pad_lanes(form) ? 0 : form.c);
}

std::vector<KernelArgument> product_arguments(const Workload& workload) {
  std::vector<KernelArgument> arguments;
  auto constant = [&](const char* name, DType dtype) { arguments.push_back({Role::constant, 0, name, dtype}); };
  auto scalar = [&](const char* name, DType dtype) { arguments.push_back({Role::scalar, 0, name, dtype}); };
  arguments.push_back({Role::input, 0, "", workload.inputs[0].dtype});
  if (workload.epilogue.residual != ResidualForm::none) {
    arguments.push_back({Role::input, 1, "", workload.inputs[1].dtype});
  }
  constant("weights", workload.weight_dtype);
  if (has_bias_argument(workload)) constant("bias", DType::s32);
  if (!gives_accumulators(workload)) constant("multiplier", DType::f32);
  if (workload.epilogue.table) constant("table", DType::u8);
  if (workload.weight_zero_point == ZeroPointForm::per_channel) constant("weight_zero_point", DType::s32);
  if (workload.weight_zero_point == ZeroPointForm::scalar) scalar("weight_zero_point", DType::s32);
  if (needs_fill(workload)) scalar("x_zero_point", DType::s32);
  for (const Scalar& each : epilogue_scalars(workload)) scalar(each.name, each.dtype);
  if (pad_lanes(workload) > 0) scalar("pad_code", DType::s32);
  arguments.push_back({Role::output, 0, "", workload.output.dtype});
  return arguments;
}

std::string requantizer_source(const Workload& workload) {
  if (gives_accumulators(workload)) return "";
  // Conversions have a quarter of the rate of additions: floats from 1.5 * 2^23 on are one apart, so adding that rounds
  // half to even, and the difference of the bits is the integer. Exact below 2^22; codes and bounds are within 511.
  std::string text = R"(
__device__ __forceinline__ int rounded(float v) { return __float_as_int(__fadd_rn(v, 12582912.f)) - 0x4b400000; }
__device__ __forceinline__ float small_float(int i) { return __fsub_rn(__int_as_float(i + 0x4b400000), 12582912.f); }
struct Requantizer {
)";
  for (const Scalar& scalar : epilogue_scalars(workload)) {
    text += fmt::format("  {} {};\n", scalar.dtype == DType::f32 ? "float" : "int", scalar.name);
  }
  if (workload.epilogue.table) text += "  const unsigned char* table;\n";
  text += "  __device__ __forceinline__ int operator()(int sum, float multiplier, int residual) const {\n";
  text += "    float v = __fmul_rn(__int2float_rn(sum), multiplier);\n";
  if (workload.epilogue.residual == ResidualForm::none) {
    text += "    v = fminf(fmaxf(v, lo), hi);\n";
  } else {
    if (workload.epilogue.residual == ResidualForm::rounded) {
      text += "    v = __fmul_rn(small_float(rounded(fminf(fmaxf(v, lo), hi))), conv_scale);\n";
    }
    text +=
        "    v = __fadd_rn(v, __fmul_rn(small_float(residual - residual_zero_point), residual_scale));\n"
        "    v = fminf(fmaxf(__fdiv_rn(v, y_scale), sum_lo), sum_hi);\n";
  }
  text += "    const int code = rounded(v) + y_zero_point;\n";
  text += workload.epilogue.table ? "    return table[code & 255];\n" : "    return code;\n";
  return text + "  }\n};\n";
}

std::string requantizer_of_arguments(const Workload& workload) {
  if (gives_accumulators(workload)) return "";
  std::string text;
  for (const Scalar& scalar : epilogue_scalars(workload)) text += (text.empty() ? "" : ", ") + std::string(scalar.name);
  if (workload.epilogue.table) text += ", table";
  return "  const Requantizer requantize = {" + text + "};\n";
}

int64_t residual_vector(const Workload& workload, int64_t store_lanes) {
  if (workload.epilogue.residual == ResidualForm::none) return 1;
  const int64_t lanes = readable_vector(workload.inputs[1], store_lanes);
  return lanes < 4 ? 1 : lanes;
}

std::string output_constants(const Workload& workload, int64_t store_lanes) {
  const TensorForm& y = workload.output;
  SourceConstants constants;
  constants.add("K", y.c)
      .add("YStride", y.pixel_stride)
      .add("YOffset", y.channel_offset)
      .add("StoreLanes", store_lanes);
  if (workload.epilogue.residual != ResidualForm::none) {
    const TensorForm& r = workload.inputs[1];
    constants.add("RStride", r.pixel_stride).add("ROffset", r.channel_offset);
    constants.add("ResidualLanes", residual_vector(workload, store_lanes));
    constants.add("ResidualSigned", r.dtype == DType::s8 ? 1 : 0);
  }
  return constants.text();
}

namespace {

std::string load_residual_source(const Workload& workload) {
  if (workload.epilogue.residual == ResidualForm::none) {
    return "  auto load_residual = [&](auto& to, int, int) {\n#pragma unroll\n"
           "    for (int i = 0; i < kLanesOf<decltype(to)>; ++i) to[i] = 0;\n  };\n";
  }
  return R"(  auto residual_at = [&](int pixel, int k) {
    return residual + (static_cast<long long>(pixel) * kRStride + kROffset + k);
  };
  auto load_residual = [&](auto& to, int pixel, int k) {
    const unsigned char* const from = residual_at(pixel, k);
#pragma unroll
    for (int i = 0; i < kLanesOf<decltype(to)>; i += kResidualLanes) {
      int some[kResidualLanes] = {};
      if (k + i < kK) load_codes<kResidualSigned>(some, from + i);
#pragma unroll
      for (int j = 0; j < kResidualLanes; ++j) to[i + j] = some[j];
    }
  };
)";
}

std::string load_epilogue_constants_source(const Workload& workload) {
  auto load = [](const char* name, const char* argument) {
    const std::string body = argument == nullptr
                                 ? "#pragma unroll\n    for (int i = 0; i < kLanesOf<decltype(to)>; ++i) to[i] = 0;\n"
                                 : fmt::format("    load_values(to, {} + position);\n", argument);
    return fmt::format("  auto {} = [&](auto& to, int{}) {{\n{}  }};\n", name, argument == nullptr ? "" : " position",
                       body);
  };
  return load("load_bias", has_bias_argument(workload) ? "bias" : nullptr) +
         load("load_multipliers", gives_accumulators(workload) ? nullptr : "multiplier");
}

}  // namespace

std::string finish_source(const Workload& workload) {
  const bool accumulators = gives_accumulators(workload);
  std::string text = R"(
  auto outputs_of = [&](auto& outputs, const auto& sums_of, const auto& bias_of, const auto& multiplier_of,
                        const auto& residual_of, int k) {
#pragma unroll
    for (int i = 0; i < kLanesOf<decltype(outputs)>; ++i) {
)";
  text += accumulators ? "      outputs[i] = sums_of[i] + bias_of[i];\n"
                       : "      outputs[i] = requantize(sums_of[i] + bias_of[i], multiplier_of[i], residual_of[i]);\n";
  if (pad_lanes(workload) > 0) text += "      if (k + i >= kK) outputs[i] = pad_code;\n";
  text += R"(    }
  };
  auto output_at = [&](int pixel, int k) {
    return )";
  text += accumulators ? "reinterpret_cast<int*>(y)" : "y";
  text += " + (static_cast<long long>(pixel) * kYStride + kYOffset + k);\n  };\n" + load_residual_source(workload);
  text += R"(  auto finish = [&](const int (&sums_of)[kStoreLanes], const int (&bias_of)[kStoreLanes],
                    const float (&multiplier_of)[kStoreLanes], int pixel, int k) {
    int residual_of[kStoreLanes], outputs[kStoreLanes];
    load_residual(residual_of, pixel, k);
    outputs_of(outputs, sums_of, bias_of, multiplier_of, residual_of, k);
    )";
  text += accumulators ? "store_values" : "store_codes";
  text += "(output_at(pixel, k), outputs);\n  };\n";
  return text + load_epilogue_constants_source(workload);
}

std::string zero_points_source(const Workload& workload) {
  std::string text = "  auto load_zero_points = [&](auto& to, int position) {\n";
  if (workload.weight_zero_point == ZeroPointForm::per_channel) {
    text += "    load_values(to, weight_zero_point + position);\n";
  }
  if (workload.weight_zero_point == ZeroPointForm::scalar) {
    text += "#pragma unroll\n    for (int i = 0; i < kLanesOf<decltype(to)>; ++i) to[i] = weight_zero_point;\n";
  }
  return text + "  };\n";
}

std::string fill_source(const Workload& workload) {
  return needs_fill(workload) ? "  const int fill = (x_zero_point & 255) * 0x01010101;\n" : "  const int fill = 0;\n";
}

int32_t weight_zero_point_of(const Workload& workload, const Values& values, int64_t channel) {
  switch (workload.weight_zero_point) {
    case ZeroPointForm::zero:
      return 0;
    case ZeroPointForm::scalar:
      return value_of(values, "weight_zero_point").as<int32_t>()[0];
    case ZeroPointForm::per_channel:
      return value_of(values, "weight_zero_point").as<int32_t>()[static_cast<size_t>(channel)];
  }
  throw InternalError("unknown form of a zero point");
}

Tensor pack_product_argument(const Workload& workload, const std::string& argument, const Values& values,
                             int64_t positions, const ChannelAt& channel_at) {
  const bool per_channel_zero_point =
      argument == "weight_zero_point" && workload.weight_zero_point == ZeroPointForm::per_channel;
  if (argument != "bias" && argument != "multiplier" && !per_channel_zero_point) {
    for (const KernelArgument& known : product_arguments(workload)) {
      const bool is_value = known.role == Role::scalar || known.role == Role::constant;
      if (is_value && known.name == argument && argument != "weights") return value_of(values, argument);
    }
    throw InternalError(fmt::format("no argument '{}' of {}", argument, workload.summary()));
  }
  Tensor packed(argument == "multiplier" ? DType::f32 : DType::s32, {positions});
  for (int64_t position = 0; position < positions; ++position) {
    const int64_t channel = channel_at(position);
    if (channel < 0) continue;
    const auto at = static_cast<size_t>(position);
    if (argument == "multiplier") {
      packed.as<float>()[at] = value_of(values, "multiplier").as<float>()[static_cast<size_t>(channel)];
    } else if (argument == "bias") {
      packed.as<int32_t>()[at] = folded_bias(workload, values, channel);
    } else {
      packed.as<int32_t>()[at] = weight_zero_point_of(workload, values, channel);
    }
  }
  return packed;
}

}  // namespace warpwright
