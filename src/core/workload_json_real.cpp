// Canonical JSON and summaries of the float32 kinds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "src/core/enum_names.h"
#include "src/core/workload_json.h"

namespace warpwright {

namespace {

constexpr EnumNames<ReductionOp, 9> kReductions{{{ReductionOp::sum, "sum"},
                                                 {ReductionOp::mean, "mean"},
                                                 {ReductionOp::max, "max"},
                                                 {ReductionOp::min, "min"},
                                                 {ReductionOp::product, "product"},
                                                 {ReductionOp::sum_square, "sum_square"},
                                                 {ReductionOp::sum_abs, "sum_abs"},
                                                 {ReductionOp::arg_max, "arg_max"},
                                                 {ReductionOp::arg_min, "arg_min"}}};

bool has_rows(OpKind kind) {
  return kind == OpKind::reduce || kind == OpKind::softmax || kind == OpKind::normalize || kind == OpKind::gather ||
         kind == OpKind::join;
}

bool has_bias(OpKind kind) {
  return kind == OpKind::real_conv2d || kind == OpKind::real_matmul || kind == OpKind::normalize;
}

bool is_arg(ReductionOp op) { return op == ReductionOp::arg_max || op == ReductionOp::arg_min; }

Json map_json(const Map& map) {
  Json operands = Json::array(), instructions = Json::array();
  for (const MapOperand& operand : map.operands) {
    operands.push_back(
        {{"dtype", std::string(name(operand.dtype))}, {"constant", operand.constant}, {"steps", operand.steps}});
  }
  for (const MapInstruction& instruction : map.instructions) {
    Json item = Json::array({std::string(name(instruction.op))});
    for (const int argument : instruction.arguments) item.push_back(argument);
    instructions.push_back(std::move(item));
  }
  return {{"extents", map.extents}, {"operands", std::move(operands)}, {"instructions", std::move(instructions)}};
}

Map map_from_json(const Json& json) {
  Map map;
  map.extents = json.at("extents").get<std::vector<int64_t>>();
  for (const Json& operand : json.at("operands")) {
    map.operands.push_back({dtype_from_name(operand.at("dtype").get<std::string>()), operand.at("constant").get<bool>(),
                            operand.at("steps").get<std::vector<int64_t>>()});
  }
  for (const Json& item : json.at("instructions")) {
    MapInstruction instruction;
    instruction.op = map_op_from_name(item.at(0).get<std::string>());
    for (size_t i = 1; i < item.size(); ++i) instruction.arguments.push_back(item.at(i).get<int>());
    map.instructions.push_back(std::move(instruction));
  }
  return map;
}

std::string extents_text(const TensorForm& form) { return fmt::format("{}x{}x{}x{}", form.n, form.h, form.w, form.c); }

std::string map_summary(const Map& map) {
  std::string text = fmt::format("map {}", fmt::join(map.extents, "x"));
  if (map.extents.empty()) text += "1";
  constexpr size_t kMostNamed = 4;
  for (size_t i = 0; i < std::min(kMostNamed, map.instructions.size()); ++i) {
    text += fmt::format(" {}", name(map.instructions[i].op));
  }
  if (map.instructions.size() > kMostNamed) text += fmt::format(" +{}", map.instructions.size() - kMostNamed);
  return text;
}

}  // namespace

std::string_view name(ReductionOp op) { return to_name(kReductions, op); }

void add_real_fields(const Workload& workload, Json& json) {
  const OpKind kind = workload.kind;
  if (kind == OpKind::real_conv2d) json["groups"] = workload.groups;
  if (has_bias(kind)) json["bias"] = workload.epilogue.bias;
  if (kind == OpKind::real_matmul) {
    json["batch"] = workload.batch;
    json["transposed"] = workload.transposed;
  }
  if (kind == OpKind::map) json["map"] = map_json(workload.map);
  if (has_rows(kind)) json["rows"] = {workload.rows.outer, workload.rows.length, workload.rows.inner};
  if (kind == OpKind::reduce) {
    json["reduction"] = std::string(name(workload.reduction));
    if (is_arg(workload.reduction)) json["select_last"] = workload.select_last;
  }
  if (kind == OpKind::softmax) json["logarithm"] = workload.logarithm;
  if (kind == OpKind::normalize) json["centered"] = workload.centered;
  if (kind == OpKind::resample) json["taps"] = {workload.h_taps, workload.w_taps};
  if (kind == OpKind::join) json["lengths"] = workload.lengths;
}

void read_real_fields(const Json& json, Workload& workload) {
  const OpKind kind = workload.kind;
  if (kind == OpKind::real_conv2d) workload.groups = json.at("groups").get<int64_t>();
  if (has_bias(kind)) workload.epilogue.bias = json.at("bias").get<bool>();
  if (kind == OpKind::real_matmul) {
    workload.batch = json.at("batch").get<int64_t>();
    workload.transposed = json.at("transposed").get<bool>();
  }
  if (kind == OpKind::map) workload.map = map_from_json(json.at("map"));
  if (has_rows(kind)) {
    const auto rows = json.at("rows").get<std::array<int64_t, 3>>();
    workload.rows = {rows[0], rows[1], rows[2]};
  }
  if (kind == OpKind::reduce) {
    workload.reduction = from_name(kReductions, json.at("reduction").get<std::string>(), "Workload field 'reduction'");
    if (is_arg(workload.reduction)) workload.select_last = json.at("select_last").get<bool>();
  }
  if (kind == OpKind::softmax) workload.logarithm = json.at("logarithm").get<bool>();
  if (kind == OpKind::normalize) workload.centered = json.at("centered").get<bool>();
  if (kind == OpKind::resample) {
    const auto taps = json.at("taps").get<std::array<int64_t, 2>>();
    workload.h_taps = taps[0];
    workload.w_taps = taps[1];
  }
  if (kind == OpKind::join) workload.lengths = json.at("lengths").get<std::vector<int64_t>>();
}

std::string real_summary(const Workload& workload) {
  const TensorForm &x = workload.inputs.at(0), &y = workload.output;
  const Rows& rows = workload.rows;
  const std::string by_rows = fmt::format("{} {}x{}x{}", name(workload.kind), rows.outer, rows.length, rows.inner);
  switch (workload.kind) {
    case OpKind::real_matmul:
      return fmt::format("real_matmul {}x{}x{} -> {}{}{}", workload.batch, workload.matrix_rows(), x.c, y.c,
                         workload.transposed ? " transposed" : "", workload.inputs.size() == 1 ? " weights" : "");
    case OpKind::map:
      return map_summary(workload.map);
    case OpKind::reduce:
      return fmt::format("{} {}", by_rows, name(workload.reduction));
    case OpKind::softmax:
      return by_rows + (workload.logarithm ? " log" : "");
    case OpKind::normalize:
      return by_rows + (workload.centered ? "" : " uncentered");
    case OpKind::gather:
      return fmt::format("{} {}{}", by_rows, name(y.dtype), workload.inputs.size() == 1 ? " table" : "");
    case OpKind::join:
      return fmt::format("{} of {} {}", by_rows, workload.inputs.size(), name(y.dtype));
    case OpKind::resample:
      return fmt::format("resample {} -> {}x{} taps {}x{}", extents_text(x), y.h, y.w, workload.h_taps,
                         workload.w_taps);
    default:
      break;
  }
  std::string text = fmt::format("{} {} -> {}x{}x{} {}", name(workload.kind), extents_text(x), y.h, y.w, y.c,
                                 window_summary(workload.window));
  if (workload.groups > 1) text += fmt::format(" g{}", workload.groups);
  return text;
}

}  // namespace warpwright
