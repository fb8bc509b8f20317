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
void import_cast_like(OperatorContext& context);
void import_dynamic_quantize_linear(OperatorContext& context);
// operators_products.cpp
void import_conv(OperatorContext& context);
void import_gemm(OperatorContext& context);
// operators_matmul.cpp
void import_matmul(OperatorContext& context);
void import_fused_matmul(OperatorContext& context);
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
// operators_arithmetic.cpp
void import_unary_operation(OperatorContext& context, MapOp op);
void import_binary_operation(OperatorContext& context, MapOp op);
void import_comparison(OperatorContext& context, MapOp op, bool swapped);  // swapped: of the second and the first
void import_sum(OperatorContext& context);
void import_mean(OperatorContext& context);
void import_max(OperatorContext& context);
void import_min(OperatorContext& context);
void import_tan(OperatorContext& context);
void import_pow(OperatorContext& context);
void import_mod(OperatorContext& context);
void import_is_inf(OperatorContext& context);
void import_where(OperatorContext& context);
// operators_activations.cpp
void import_prelu(OperatorContext& context);
void import_elu(OperatorContext& context);
void import_selu(OperatorContext& context);
void import_celu(OperatorContext& context);
void import_softplus(OperatorContext& context);
void import_softsign(OperatorContext& context);
void import_mish(OperatorContext& context);
void import_thresholded_relu(OperatorContext& context);
void import_shrink(OperatorContext& context);
void import_gelu(OperatorContext& context);
void import_fast_gelu(OperatorContext& context);
void import_bias_gelu(OperatorContext& context);
void import_quick_gelu(OperatorContext& context);
// operators_reduce.cpp
void import_reduce(OperatorContext& context, ReductionOp op);
void import_reduce_mean(OperatorContext& context);
void import_reduce_l2(OperatorContext& context);
void import_reduce_log_sum(OperatorContext& context);
void import_reduce_log_sum_exp(OperatorContext& context);
void import_arg(OperatorContext& context, ReductionOp op);
void import_softmax(OperatorContext& context, bool logarithm);
// operators_normalization.cpp
void import_layer_normalization(OperatorContext& context);
void import_rms_normalization(OperatorContext& context);
void import_skip_layer_normalization(OperatorContext& context, bool centered);
void import_instance_normalization(OperatorContext& context);
void import_group_normalization(OperatorContext& context);
void import_batch_normalization(OperatorContext& context);
void import_lp_normalization(OperatorContext& context);
void import_mean_variance_normalization(OperatorContext& context);
// operators_conv_transpose.cpp
void import_conv_transpose(OperatorContext& context);
// operators_einsum.cpp
void import_einsum(OperatorContext& context);
// operators_blocks.cpp
void import_tile(OperatorContext& context);
void import_depth_to_space(OperatorContext& context);
void import_space_to_depth(OperatorContext& context);
void import_trilu(OperatorContext& context);
void import_one_hot(OperatorContext& context);
// operators_pools.cpp
void import_global_max_pool(OperatorContext& context);
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
void import_gather_elements(OperatorContext& context);
void import_gather_nd(OperatorContext& context);
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
void import_qlinear_softmax(OperatorContext& context);
void import_qlinear_average_pool(OperatorContext& context);
void import_qlinear_global_average_pool(OperatorContext& context);
void import_qlinear_concat(OperatorContext& context);

}  // namespace warpwright
