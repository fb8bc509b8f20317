// Workloads: names, forms, canonical JSON and keys. Checks stand in workload_check.cpp.
#include "src/core/workload.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "src/core/enum_names.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/json_fields.h"
#include "src/core/workload_json.h"

namespace warpwright {

namespace {

constexpr EnumNames<OpKind, 24> kKinds{{{OpKind::conv2d, "conv2d"},
                                        {OpKind::dense, "dense"},
                                        {OpKind::matmul, "matmul"},
                                        {OpKind::quantize, "quantize"},
                                        {OpKind::dequantize, "dequantize"},
                                        {OpKind::lookup, "lookup"},
                                        {OpKind::add, "add"},
                                        {OpKind::mul, "mul"},
                                        {OpKind::max_pool, "max_pool"},
                                        {OpKind::average_pool, "average_pool"},
                                        {OpKind::concat, "concat"},
                                        {OpKind::layout, "layout"},
                                        {OpKind::move, "move"},
                                        {OpKind::real_conv2d, "real_conv2d"},
                                        {OpKind::real_matmul, "real_matmul"},
                                        {OpKind::map, "map"},
                                        {OpKind::reduce, "reduce"},
                                        {OpKind::softmax, "softmax"},
                                        {OpKind::normalize, "normalize"},
                                        {OpKind::real_max_pool, "real_max_pool"},
                                        {OpKind::real_average_pool, "real_average_pool"},
                                        {OpKind::resample, "resample"},
                                        {OpKind::gather, "gather"},
                                        {OpKind::join, "join"}}};
constexpr EnumNames<Layout, 2> kLayouts{{{Layout::nchw, "nchw"}, {Layout::nhwc, "nhwc"}}};
constexpr EnumNames<ZeroPointForm, 3> kZeroPointForms{
    {{ZeroPointForm::zero, "zero"}, {ZeroPointForm::scalar, "scalar"}, {ZeroPointForm::per_channel, "per_channel"}}};
constexpr EnumNames<ResidualForm, 3> kResidualForms{
    {{ResidualForm::none, "none"}, {ResidualForm::rounded, "rounded"}, {ResidualForm::unrounded, "unrounded"}}};

template <typename E, size_t N>
E field(const EnumNames<E, N>& names, const Json& json, const char* name) {
  return from_name(names, json.at(name).get<std::string>(), fmt::format("Workload field '{}'", name));
}

bool has_window(OpKind kind) {
  return kind == OpKind::conv2d || kind == OpKind::max_pool || kind == OpKind::average_pool ||
         kind == OpKind::real_conv2d || kind == OpKind::real_max_pool || kind == OpKind::real_average_pool;
}

bool counts_padding(OpKind kind) { return kind == OpKind::average_pool || kind == OpKind::real_average_pool; }

Json form_json(const TensorForm& form) {
  Json json{{"dtype", std::string(name(form.dtype))},
            {"layout", to_name(kLayouts, form.layout)},
            {"nhwc", {form.n, form.h, form.w, form.c}}};
  if (form.layout == Layout::nhwc) {
    json["pixel_stride"] = form.pixel_stride;
    json["channel_offset"] = form.channel_offset;
  }
  return json;
}

TensorForm form_from_json(const Json& json) {
  TensorForm form;
  form.dtype = dtype_from_name(json.at("dtype").get<std::string>());
  form.layout = field(kLayouts, json, "layout");
  const auto extents = json.at("nhwc").get<std::array<int64_t, 4>>();
  form.n = extents[0];
  form.h = extents[1];
  form.w = extents[2];
  form.c = extents[3];
  if (form.layout == Layout::nhwc) {
    form.pixel_stride = json.at("pixel_stride").get<int64_t>();
    form.channel_offset = json.at("channel_offset").get<int64_t>();
  }
  return form;
}

Json window_json(const Window& window) {
  return {{"kernel", {window.kernel_h, window.kernel_w}},
          {"stride", {window.stride_h, window.stride_w}},
          {"dilation", {window.dilation_h, window.dilation_w}},
          {"pad", {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}}};
}

Window window_from_json(const Json& json) {
  const auto kernel = json.at("kernel").get<std::array<int64_t, 2>>();
  const auto stride = json.at("stride").get<std::array<int64_t, 2>>();
  const auto dilation = json.at("dilation").get<std::array<int64_t, 2>>();
  const auto pad = json.at("pad").get<std::array<int64_t, 4>>();
  return {kernel[0], kernel[1], stride[0], stride[1], dilation[0], dilation[1], pad[0], pad[1], pad[2], pad[3]};
}

Json movement_json(const Movement& movement) {
  Json axes = Json::array();
  for (const MovementAxis& axis : movement.axes) axes.push_back({axis.extent, axis.step, axis.first, axis.last});
  return {{"start", movement.start}, {"axes", std::move(axes)}};
}

Movement movement_from_json(const Json& json) {
  Movement movement;
  movement.start = json.at("start").get<int64_t>();
  for (const Json& item : json.at("axes")) {
    const auto axis = item.get<std::array<int64_t, 4>>();
    movement.axes.push_back({axis[0], axis[1], axis[2], axis[3]});
  }
  return movement;
}

Workload parse(const Json& json) {
  Workload workload;
  workload.kind = field(kKinds, json, "kind");
  for (const Json& input : json.at("inputs")) workload.inputs.push_back(form_from_json(input));
  workload.output = form_from_json(json.at("output"));
  if (has_window(workload.kind)) workload.window = window_from_json(json.at("window"));
  if (workload.kind == OpKind::move) workload.movement = movement_from_json(json.at("movement"));
  if (counts_padding(workload.kind)) workload.count_include_pad = json.at("count_include_pad").get<bool>();
  if (workload.is_matrix_product()) {
    const Json& epilogue = json.at("epilogue");
    workload.groups = json.at("groups").get<int64_t>();
    workload.weight_dtype = dtype_from_name(json.at("weight_dtype").get<std::string>());
    workload.x_zero_point = field(kZeroPointForms, json, "x_zero_point");
    workload.weight_zero_point = field(kZeroPointForms, json, "weight_zero_point");
    workload.epilogue.bias = epilogue.at("bias").get<bool>();
    workload.epilogue.residual = field(kResidualForms, epilogue, "residual");
    workload.epilogue.table = epilogue.at("table").get<bool>();
    workload.epilogue.table_input = dtype_from_name(epilogue.at("table_input").get<std::string>());
  }
  if (workload.kind == OpKind::matmul) {
    workload.batch = json.at("batch").get<int64_t>();
    workload.transposed = json.at("transposed").get<bool>();
    workload.x_zero_point = field(kZeroPointForms, json, "a_zero_point");
    workload.weight_zero_point = field(kZeroPointForms, json, "b_zero_point");
  }
  if (workload.is_real()) read_real_fields(json, workload);
  return workload;
}

}  // namespace

std::string_view name(OpKind kind) { return to_name(kKinds, kind); }

OpKind op_kind_from_name(std::string_view text) { return from_name(kKinds, text, "Workload field 'kind'"); }

int64_t TensorForm::buffer_elements() const { return layout == Layout::nhwc ? pixels() * pixel_stride : pixels() * c; }

int64_t TensorForm::buffer_bytes() const { return buffer_elements() * static_cast<int64_t>(size_bytes(dtype)); }

bool Workload::is_depthwise() const { return kind == OpKind::conv2d && groups > 1 && groups == inputs.at(0).c; }

bool Workload::is_real() const { return kind >= OpKind::real_conv2d; }

int64_t Workload::reduction_size() const { return window.kernel_h * window.kernel_w * (inputs.at(0).c / groups); }

int64_t Workload::multiply_adds() const {
  const bool multiplies =
      is_matrix_product() || kind == OpKind::matmul || kind == OpKind::real_conv2d || kind == OpKind::real_matmul;
  return multiplies ? output.pixels() * output.c * reduction_size() : 0;
}

std::string window_summary(const Window& window) {
  std::string text = fmt::format("k{}x{} s{}", window.kernel_h, window.kernel_w, window.stride_h);
  if (window.dilation_h > 1) text += fmt::format(" d{}", window.dilation_h);
  return text;
}

std::string Workload::summary() const {
  const TensorForm& x = inputs.at(0);
  if (is_real()) return real_summary(*this);
  if (kind == OpKind::matmul) {
    return fmt::format("matmul {}x{}x{} -> {} {}*{}{}{}", batch, matrix_rows(), x.c, output.c,
                       warpwright::name(x.dtype), warpwright::name(inputs.at(1).dtype), transposed ? " transposed" : "",
                       output.dtype == DType::s32 ? " s32" : "");
  }
  if (kind == OpKind::move) {
    return fmt::format("move {}x{}x{}x{} -> {}x{}x{}x{}", x.n, x.h, x.w, x.c, output.n, output.h, output.w, output.c);
  }
  std::string text = kind == OpKind::dense ? fmt::format("dense {}x{} -> {}", x.n, x.c, output.c)
                                           : fmt::format("{} {}x{}x{}x{} -> {}x{}x{}", warpwright::name(kind), x.n, x.h,
                                                         x.w, x.c, output.h, output.w, output.c);
  if (has_window(kind)) text += fmt::format(" {}", window_summary(window));
  if (groups > 1) text += fmt::format(" g{}", groups);
  if (is_matrix_product()) {
    text += fmt::format(" {}*{}", warpwright::name(x.dtype), warpwright::name(weight_dtype));
    if (epilogue.residual != ResidualForm::none)
      text += fmt::format(" +{}", to_name(kResidualForms, epilogue.residual));
    if (epilogue.table) text += " +table";
    if (output.dtype == DType::s32) text += " s32";
  }
  return text;
}

Json to_json(const Workload& workload) {
  Json json{{"kind", std::string(name(workload.kind))}, {"output", form_json(workload.output)}};
  json["inputs"] = Json::array();
  for (const TensorForm& input : workload.inputs) json["inputs"].push_back(form_json(input));
  if (has_window(workload.kind)) json["window"] = window_json(workload.window);
  if (workload.kind == OpKind::move) json["movement"] = movement_json(workload.movement);
  if (counts_padding(workload.kind)) json["count_include_pad"] = workload.count_include_pad;
  if (workload.is_matrix_product()) {
    json["groups"] = workload.groups;
    json["weight_dtype"] = std::string(name(workload.weight_dtype));
    json["x_zero_point"] = to_name(kZeroPointForms, workload.x_zero_point);
    json["weight_zero_point"] = to_name(kZeroPointForms, workload.weight_zero_point);
    json["epilogue"] = {{"bias", workload.epilogue.bias},
                        {"residual", to_name(kResidualForms, workload.epilogue.residual)},
                        {"table", workload.epilogue.table},
                        {"table_input", std::string(name(workload.epilogue.table_input))}};
  }
  if (workload.kind == OpKind::matmul) {
    json["batch"] = workload.batch;
    json["transposed"] = workload.transposed;
    json["a_zero_point"] = to_name(kZeroPointForms, workload.x_zero_point);
    json["b_zero_point"] = to_name(kZeroPointForms, workload.weight_zero_point);
  }
  if (workload.is_real()) add_real_fields(workload, json);
  return json;
}

Workload workload_from_json(const Json& json) {
  Workload workload;
  try {
    workload = parse(json);
    check(workload);
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("not a Workload: {}", reason_of(error)));
  } catch (const InternalError& error) {
    throw UsageError(fmt::format("not a legal Workload: {}", error.what()));
  }
  if (to_json(workload) != json) throw UsageError("a Workload with fields that its kind does not use");
  return workload;
}

std::string key(const Workload& workload) { return "w1-" + key_hex(to_json(workload).dump()); }

int64_t padded_channels(int64_t channels) { return channels <= 4 ? 4 : (channels + 15) / 16 * 16; }

bool owns_pad_lanes(const TensorForm& form) {
  return form.layout == Layout::nhwc && form.channel_offset == 0 && form.pixel_stride == padded_channels(form.c);
}

TensorForm nhwc_form(DType dtype, int64_t n, int64_t h, int64_t w, int64_t c) {
  return {dtype, Layout::nhwc, n, h, w, c, padded_channels(c), 0};
}

TensorForm nchw_form(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w) {
  return {dtype, Layout::nchw, n, h, w, c, 0, 0};
}

}  // namespace warpwright
