// Resize along one axis: which elements of the input each element of the output is made of, and with what weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpwright {

struct ResizeRule {
  std::string mode = "nearest";  // or linear, cubic
  std::string coordinates = "asymmetric", nearest = "floor";
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false, antialias = false;
  float extrapolation_value = 0.0f;  // of tf_crop_and_resize
};

/// How an axis is resized. `start` and `end` are of tf_crop_and_resize.
struct AxisResize {
  int64_t from = 1, to = 1;
  float scale = 1.0f;
  float start = 0.0f, end = 1.0f;
};

/// For mode nearest: the source of each element, in float32 as ONNX Runtime computes it. Throws UsageError for an
/// unknown rule.
std::vector<int64_t> nearest_indices(const ResizeRule& rule, const AxisResize& axis);

/// The two neighbours of each element and their weights, in float32 as ONNX Runtime computes them.
struct LinearNeighbours {
  std::vector<int64_t> first, second;
  std::vector<float> first_weight, second_weight;
};
LinearNeighbours linear_neighbours(const ResizeRule& rule, const AxisResize& axis);

/// Weights for all other modes: `taps` for each element, and which elements lie outside (tf_crop_and_resize).
struct ResizeWeights {
  int64_t taps = 1;
  std::vector<int32_t> indices;
  std::vector<float> weights;
  std::vector<bool> outside;
};
ResizeWeights resize_weights(const ResizeRule& rule, const AxisResize& axis);

}  // namespace warpwright
