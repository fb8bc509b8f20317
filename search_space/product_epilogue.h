// What the kernels of conv2d and dense share: arguments, requantization, packing of everything but the weights.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/core/kernel.h"
#include "src/core/workload.h"

namespace warpwright {

/// The output is s32: y = accumulator + bias, without multiplier, bounds, residual and table.
bool gives_accumulators(const Workload& workload);
/// A `bias` argument is there when the Workload has one or when a zero point must be folded into it.
bool has_bias_argument(const Workload& workload);
/// Some taps may lie outside the image, so that the kernel needs x's zero point to fill them in.
bool needs_fill(const Workload& workload);
/// Lanes of an output pixel behind its channels, which hold pad_code; 0 for a slice of wider pixels.
int64_t pad_lanes(const Workload& workload);
/// Lanes, at most `most`, that can be read at once from any multiple of them up to the last channel.
int64_t readable_vector(const TensorForm& form, int64_t most);

/// x [, residual], weights [, bias] [, multiplier] [, table] [, weight_zero_point], scalars, y.
std::vector<KernelArgument> product_arguments(const Workload& workload);

/// `struct Requantizer` with a member `int operator()(int sum, float multiplier, int residual) const`: from the biased
/// accumulator to the output code. `requantizer_of_arguments` is the statement that makes `requantize` of the
/// parameters.
std::string requantizer_source(const Workload& workload);
std::string requantizer_of_arguments(const Workload& workload);

/// Residual codes that a thread may load at once where it stores `store_lanes` output channels at once.
int64_t residual_vector(const Workload& workload, int64_t store_lanes);

/// Constants of output and residual, and lambdas for the kernel's body, for arrays `to`, `outputs` of any length that
/// the vectors of vector_access_source take (kStoreLanes for `finish`); k is the first of as many output channels:
///   load_bias(to, position), load_multipliers(to, position), load_residual(to, pixel, k)
///   outputs_of(outputs, sums, bias_of, multiplier_of, residual_of, k): requantized, or sums with bias for an s32
///     output; pad_code where k is past the channels
///   output_at(pixel, k) and, with a residual, residual_at(pixel, k): where they lie in memory
///   finish(sums, bias_of, multiplier_of, pixel, k): all of it for kStoreLanes channels
std::string output_constants(const Workload& workload, int64_t store_lanes);
std::string finish_source(const Workload& workload);

/// A lambda `load_zero_points(to, position)` for the zero points of some channels' weights; `to` stays if there are
/// none.
std::string zero_points_source(const Workload& workload);

/// `const int fill`: four times the code that stands for positions outside the image.
std::string fill_source(const Workload& workload);

/// Channel of the packed position, or -1 for padding.
using ChannelAt = std::function<int64_t(int64_t)>;

/// Every constant and scalar of product_arguments but `weights`; per-channel ones have `positions` elements, 0 where
/// there is no channel. Throws InternalError for an unknown name.
Tensor pack_product_argument(const Workload& workload, const std::string& argument, const Values& values,
                             int64_t positions, const ChannelAt& channel_at);

/// Zero point of the weights of an output channel.
int32_t weight_zero_point_of(const Workload& workload, const Values& values, int64_t channel);

}  // namespace warpwright
