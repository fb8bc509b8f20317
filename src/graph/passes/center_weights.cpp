// Pass: zero points of weights. Where all of w - zero point fit s8 they are packed so, and the zero point is gone; else
// u8 weights become s8 by xor 0x80, their zero point less 128.
#include <algorithm>
#include <span>

#include "src/graph/passes/passes.h"

namespace warpwright {

namespace {

/// A code of s8 or u8 as it is stored.
int32_t code(bool is_u8, std::byte stored) {
  return is_u8 ? int32_t{static_cast<uint8_t>(stored)} : int32_t{static_cast<int8_t>(stored)};
}

void center(Node& node) {
  Tensor& weights = node.values.at("weights");
  const auto given = node.values.at("weight_zero_point").as<int32_t>();
  const auto channels = static_cast<size_t>(weights.shape[0]);
  std::vector<int32_t> zero_points(given.begin(), given.end());
  const size_t per_channel = zero_points.size() == 1 ? weights.bytes.size() : weights.bytes.size() / channels;
  const bool is_u8 = weights.dtype == DType::u8;
  const bool as_they_are = !is_u8 && std::all_of(given.begin(), given.end(), [](int32_t v) { return v == 0; });
  bool fits = true;
  for (size_t k = 0; k < zero_points.size() && !as_they_are && fits; ++k) {
    const std::span<const std::byte> part = std::span(weights.bytes).subspan(k * per_channel, per_channel);
    fits = std::all_of(part.begin(), part.end(), [&](std::byte stored) {
      const int32_t centred = code(is_u8, stored) - zero_points[k];
      return centred >= -128 && centred <= 127;
    });
  }
  for (size_t k = 0; k < zero_points.size() && !as_they_are; ++k) {
    const int32_t shift = fits ? zero_points[k] : is_u8 ? 128 : 0;
    for (std::byte& stored : std::span(weights.bytes).subspan(k * per_channel, per_channel)) {
      stored = static_cast<std::byte>(code(is_u8, stored) - shift);
    }
  }
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
