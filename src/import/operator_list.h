// The operators by file; the list of those taken stands in operator_list.cpp.
#pragma once

#include "src/import/operators.h"

namespace warpwright {

// operators_quantization.cpp
void import_quantize_linear(OperatorContext& context);
void import_dequantize_linear(OperatorContext& context);
void import_identity(OperatorContext& context);
void import_dropout(OperatorContext& context);
void import_cast(OperatorContext& context);
// operators_products.cpp
void import_conv(OperatorContext& context);
void import_gemm(OperatorContext& context);
// operators_matmul.cpp
void import_matmul(OperatorContext& context);
// operators_elementwise.cpp
void import_relu(OperatorContext& context);
void import_clip(OperatorContext& context);
void import_hard_sigmoid(OperatorContext& context);
void import_hard_swish(OperatorContext& context);
void import_sigmoid(OperatorContext& context);
void import_leaky_relu(OperatorContext& context);
void import_tanh(OperatorContext& context);
void import_add(OperatorContext& context);
void import_mul(OperatorContext& context);
// operators_pools.cpp
void import_max_pool(OperatorContext& context);
void import_average_pool(OperatorContext& context);
void import_global_average_pool(OperatorContext& context);
// operators_movement.cpp
void import_concat(OperatorContext& context);
void import_flatten(OperatorContext& context);
void import_reshape(OperatorContext& context);
void import_transpose(OperatorContext& context);
void import_squeeze(OperatorContext& context);
void import_unsqueeze(OperatorContext& context);
// operators_gather.cpp
void import_slice(OperatorContext& context);
void import_split(OperatorContext& context);
void import_pad(OperatorContext& context);
void import_expand(OperatorContext& context);
void import_gather(OperatorContext& context);
// operators_resize.cpp
void import_resize(OperatorContext& context);
void import_upsample(OperatorContext& context);
// operators_integer.cpp
void import_conv_integer(OperatorContext& context);
void import_matmul_integer(OperatorContext& context);
// operators_qlinear.cpp
void import_qlinear_conv(OperatorContext& context);
void import_qlinear_matmul(OperatorContext& context);
void import_qgemm(OperatorContext& context);
void import_qlinear_add(OperatorContext& context);
void import_qlinear_mul(OperatorContext& context);
void import_qlinear_sigmoid(OperatorContext& context);
void import_qlinear_leaky_relu(OperatorContext& context);
void import_qlinear_average_pool(OperatorContext& context);
void import_qlinear_global_average_pool(OperatorContext& context);
void import_qlinear_concat(OperatorContext& context);

}  // namespace warpwright
