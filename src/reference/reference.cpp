// run_reference: checks, pad lanes, then the operator.
#include "src/reference/reference.h"

#include <fmt/core.h>

#include <algorithm>

#include "src/core/error.h"
#include "src/reference/operators.h"

namespace warpwright {

namespace {

void check_buffers(const Workload& workload, std::span<const Tensor* const> inputs) {
  if (inputs.size() != workload.inputs.size()) {
    throw InternalError(fmt::format("reference of {}: {} inputs given, {} needed", workload.summary(), inputs.size(),
                                    workload.inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorForm& form = workload.inputs[i];
    if (inputs[i]->dtype != form.dtype || static_cast<int64_t>(inputs[i]->bytes.size()) != form.buffer_bytes()) {
      throw InternalError(fmt::format("reference of {}: input {} holds {} bytes of {}, not {} bytes of {}",
                                      workload.summary(), i, inputs[i]->bytes.size(), name(inputs[i]->dtype),
                                      form.buffer_bytes(), name(form.dtype)));
    }
  }
}

void run(const Operation& operation) {
  switch (operation.workload.kind) {
    case OpKind::conv2d:
      return operation.workload.is_depthwise() ? run_depthwise(operation) : run_matrix_product(operation);
    case OpKind::dense:
      return run_matrix_product(operation);
    case OpKind::matmul:
      return run_matmul(operation);
    case OpKind::quantize:
      return run_quantize(operation);
    case OpKind::dequantize:
      return run_dequantize(operation);
    case OpKind::lookup:
      return run_lookup(operation);
    case OpKind::add:
    case OpKind::mul:
      return run_add_or_mul(operation);
    case OpKind::max_pool:
      return run_max_pool(operation);
    case OpKind::average_pool:
      return run_average_pool(operation);
    case OpKind::concat:
      return run_concat(operation);
    case OpKind::layout:
      return run_layout(operation);
    case OpKind::move:
      return run_move(operation);
    case OpKind::real_conv2d:
      return run_real_conv2d(operation);
    case OpKind::real_matmul:
      return run_real_matmul(operation);
    case OpKind::map:
      return run_map(operation);
    case OpKind::reduce:
      return run_reduce(operation);
    case OpKind::softmax:
      return run_softmax(operation);
    case OpKind::normalize:
      return run_normalize(operation);
    case OpKind::real_max_pool:
      return run_real_max_pool(operation);
    case OpKind::real_average_pool:
      return run_real_average_pool(operation);
    case OpKind::resample:
      return run_resample(operation);
    case OpKind::gather:
      return run_gather(operation);
    case OpKind::join:
      return run_join(operation);
  }
  throw InternalError("reference: unknown operator kind");
}

}  // namespace

Tensor run_reference(const Workload& workload, const Values& values, std::span<const Tensor* const> inputs) {
  check(workload, values);
  check_buffers(workload, inputs);
  Tensor output(workload.output.dtype, {workload.output.buffer_elements()});
  if (auto pad_code = values.find("pad_code"); pad_code != values.end()) {
    // An s32 output's pad_code is 0.
    std::ranges::fill(output.as<uint8_t>(), static_cast<uint8_t>(pad_code->second.as<int32_t>()[0]));
  }
  run({workload, values, inputs, output});
  return output;
}

}  // namespace warpwright
