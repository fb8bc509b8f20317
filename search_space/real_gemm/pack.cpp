// Constants of a real_gemm kernel: weights as [matrix][tile][k_tile][k / run_k][row of the tile][k % run_k], zeros
// behind the last.
#include <algorithm>

#include "search_space/arithmetic.h"
#include "search_space/real_gemm/plan.h"
#include "src/core/error.h"

namespace warpwright::real_gemm {

namespace {

const Tensor& value_of(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) throw InternalError("value '" + name + "' is missing");
  return found->second;
}

/// Where the weight of (matrix, row, k) stands among the canonical ones: matrix_step * matrix + row_step * row +
/// k_step * k.
struct WeightSteps {
  int64_t matrix, row, k;
};

Tensor pack_weights(const Plan& plan, std::span<const float> weights, const WeightSteps& steps) {
  const Shape& shape = plan.shape;
  const bool is_a = shape.a == Source::packed;
  const int64_t rows = is_a ? shape.rows : shape.columns, tile = is_a ? plan.tile_m : plan.tile_n;
  const int64_t tiles = is_a ? plan.m_tiles : plan.n_tiles, block = plan.k_tiles * plan.tile_k * tile;
  Tensor packed(DType::f32, {shape.matrices * tiles * block});
  const std::span<float> to = packed.as<float>();
  for (int64_t matrix = 0; matrix < shape.matrices; ++matrix) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = (matrix * tiles + row / tile) * block + row % tile * plan.run_k;
      const int64_t from = matrix * steps.matrix + row * steps.row;
      for (int64_t k = 0; k < shape.depth; ++k) {
        const int64_t at = first + k / plan.run_k * plan.run_k * tile + k % plan.run_k;
        to[static_cast<size_t>(at)] = weights[static_cast<size_t>(from + k * steps.k)];
      }
    }
  }
  return packed;
}

/// Of each row of all tiles.
Tensor pack_row_bias(const Plan& plan, std::span<const float> bias) {
  const int64_t rows = plan.m_tiles * plan.tile_m;
  Tensor packed(DType::f32, {plan.shape.matrices * rows});
  for (int64_t matrix = 0; matrix < plan.shape.matrices; ++matrix) {
    const auto own = bias.subspan(static_cast<size_t>(matrix * plan.shape.rows), static_cast<size_t>(plan.shape.rows));
    std::ranges::copy(own, packed.as<float>().begin() + matrix * rows);
  }
  return packed;
}

}  // namespace

Tensor pack_argument(const Workload& workload, const Plan& plan, const std::string& argument, const Values& values) {
  const Shape& shape = plan.shape;
  if (argument == "bias" && shape.bias) {
    const Tensor& bias = value_of(values, "bias");
    return shape.convolution ? pack_row_bias(plan, bias.as<float>()) : bias;
  }
  if (argument != "weights" || workload.inputs.size() != 1) {
    throw InternalError("real_gemm has no argument '" + argument + "' for " + workload.summary());
  }
  const std::span<const float> weights = value_of(values, "weights").as<float>();
  if (shape.convolution) return pack_weights(plan, weights, {shape.rows * shape.depth, shape.depth, 1});
  const int64_t matrix = shape.depth * shape.columns;
  return pack_weights(
      plan, weights, workload.transposed ? WeightSteps{matrix, shape.depth, 1} : WeightSteps{matrix, 1, shape.columns});
}

}  // namespace warpwright::real_gemm
