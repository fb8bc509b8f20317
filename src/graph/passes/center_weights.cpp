// Pass: zero points of weights. Where all of w - zero point fit s8 they are packed so, and the zero point is gone; else
// u8 weights become s8 by xor 0x80, their zero point less 128.
#include <algorithm>

#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

void center(Node& node) {
  Tensor& weights = node.values.at("weights");
  std::vector<int32_t> zero_points;
  for (int32_t value : node.values.at("weight_zero_point").as<int32_t>()) zero_points.push_back(value);
  const auto size = weights.bytes.size();
  const size_t per_channel = size / static_cast<size_t>(weights.shape[0]);
  auto zero_point = [&](size_t i) { return zero_points[zero_points.size() == 1 ? 0 : i / per_channel]; };
  const bool is_u8 = weights.dtype == DType::u8;
  auto code = [&](size_t i) -> int32_t { return is_u8 ? weights.as<uint8_t>()[i] : weights.as<int8_t>()[i]; };
  bool fits = true;
  for (size_t i = 0; i < size && fits; ++i) {
    const int32_t centred = code(i) - zero_point(i);
    fits = centred >= -128 && centred <= 127;
  }
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(fits ? code(i) - zero_point(i) : is_u8 ? code(i) - 128 : code(i));
  }
  weights.bytes = std::move(bytes);
  weights.dtype = node.workload.weight_dtype = DType::s8;
  if (fits) {
    node.workload.weight_zero_point = ZeroPointForm::zero;
    node.values.erase("weight_zero_point");
    return;
  }
  for (int32_t& value : zero_points) value -= is_u8 ? 128 : 0;
  if (std::all_of(zero_points.begin(), zero_points.end(), [&](int32_t v) { return v == zero_points[0]; })) {
    zero_points.resize(1);
  }
  node.workload.weight_zero_point = zero_points.size() == 1 ? ZeroPointForm::scalar : ZeroPointForm::per_channel;
  node.values["weight_zero_point"] = vector_s32(zero_points);
}

}  // namespace

void center_weights(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.kind == NodeKind::product && node.workload.is_matrix_product()) center(node);
  }
}

}  // namespace warpwright
