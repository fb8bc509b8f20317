// Inputs that hold several batches in their first dimension: counted, cut and put together again.
#pragma once

#include <map>
#include <string>

#include "src/core/program.h"
#include "src/core/tensor.h"

namespace warpwright {

using TensorMap = std::map<std::string, Tensor>;

/// How many batches of the program the inputs hold, the same for each. Throws UsageError that names the input which is
/// missing, unknown, of another type or of a shape that is no whole number of batches.
int64_t count_batches(const Program& program, const TensorMap& inputs);

/// Batch number `index` of checked inputs.
TensorMap batch_of(const Program& program, const TensorMap& inputs, int64_t index);

/// Puts the outputs of one more batch behind those before.
void append_batch(TensorMap& outputs, TensorMap batch);

}  // namespace warpwright
