// The operators that are taken. Constant is read by the importer itself.
#include "src/import/operator_list.h"

#include <map>
#include <utility>

namespace warpwright {

namespace {

template <MapOp op>
void unary(OperatorContext& context) {
  import_unary_operation(context, op);
}

template <MapOp op>
void binary(OperatorContext& context) {
  import_binary_operation(context, op);
}

template <MapOp op, bool swapped>
void comparison(OperatorContext& context) {
  import_comparison(context, op, swapped);
}

template <ReductionOp op>
void reduce(OperatorContext& context) {
  import_reduce(context, op);
}

template <ReductionOp op>
void arg(OperatorContext& context) {
  import_arg(context, op);
}

template <bool logarithm>
void softmax(OperatorContext& context) {
  import_softmax(context, logarithm);
}

template <bool centered>
void skip_normalization(OperatorContext& context) {
  import_skip_layer_normalization(context, centered);
}

}  // namespace

ImportOperator find_operator(const std::string& domain, const std::string& op_type) {
  static const std::map<std::pair<std::string, std::string>, ImportOperator> kOperators{
      {{"", "QuantizeLinear"}, import_quantize_linear},
      {{"", "DequantizeLinear"}, import_dequantize_linear},
      {{"", "Identity"}, import_identity},
      {{"", "Dropout"}, import_dropout},
      {{"", "Cast"}, import_cast},
      {{"", "Conv"}, import_conv},
      {{"", "Gemm"}, import_gemm},
      {{"", "MatMul"}, import_matmul},
      {{"", "ConvInteger"}, import_conv_integer},
      {{"", "MatMulInteger"}, import_matmul_integer},
      {{"", "Relu"}, import_relu},
      {{"", "Clip"}, import_clip},
      {{"", "HardSigmoid"}, import_hard_sigmoid},
      {{"", "HardSwish"}, import_hard_swish},
      {{"", "Sigmoid"}, import_sigmoid},
      {{"", "LeakyRelu"}, import_leaky_relu},
      {{"", "Tanh"}, import_tanh},
      {{"", "Add"}, import_add},
      {{"", "Mul"}, import_mul},
      {{"", "MaxPool"}, import_max_pool},
      {{"", "AveragePool"}, import_average_pool},
      {{"", "GlobalAveragePool"}, import_global_average_pool},
      {{"", "Concat"}, import_concat},
      {{"", "Flatten"}, import_flatten},
      {{"", "Reshape"}, import_reshape},
      {{"", "Transpose"}, import_transpose},
      {{"", "Squeeze"}, import_squeeze},
      {{"", "Unsqueeze"}, import_unsqueeze},
      {{"", "Slice"}, import_slice},
      {{"", "Split"}, import_split},
      {{"", "Pad"}, import_pad},
      {{"", "Expand"}, import_expand},
      {{"", "Gather"}, import_gather},
      {{"", "Resize"}, import_resize},
      {{"", "Upsample"}, import_upsample},
      {{"", "Neg"}, unary<MapOp::negate>},
      {{"", "Abs"}, unary<MapOp::absolute>},
      {{"", "Sign"}, unary<MapOp::sign>},
      {{"", "Floor"}, unary<MapOp::floor>},
      {{"", "Ceil"}, unary<MapOp::ceil>},
      {{"", "Round"}, unary<MapOp::round>},
      {{"", "Sqrt"}, unary<MapOp::square_root>},
      {{"", "Reciprocal"}, unary<MapOp::reciprocal>},
      {{"", "Exp"}, unary<MapOp::exponential>},
      {{"", "Log"}, unary<MapOp::logarithm>},
      {{"", "Erf"}, unary<MapOp::error_function>},
      {{"", "Sin"}, unary<MapOp::sine>},
      {{"", "Cos"}, unary<MapOp::cosine>},
      {{"", "IsNaN"}, unary<MapOp::is_nan>},
      {{"", "Not"}, unary<MapOp::logical_not>},
      {{"", "Sub"}, binary<MapOp::subtract>},
      {{"", "Div"}, binary<MapOp::divide>},
      {{"", "Less"}, comparison<MapOp::less, false>},
      {{"", "LessOrEqual"}, comparison<MapOp::less_equal, false>},
      {{"", "And"}, binary<MapOp::logical_and>},
      {{"", "Or"}, binary<MapOp::logical_or>},
      {{"", "Xor"}, binary<MapOp::logical_xor>},
      {{"", "Greater"}, comparison<MapOp::less, true>},
      {{"", "GreaterOrEqual"}, comparison<MapOp::less_equal, true>},
      {{"", "Sum"}, import_sum},
      {{"", "Mean"}, import_mean},
      {{"", "Max"}, import_max},
      {{"", "Min"}, import_min},
      {{"", "Tan"}, import_tan},
      {{"", "Pow"}, import_pow},
      {{"", "Mod"}, import_mod},
      {{"", "IsInf"}, import_is_inf},
      {{"", "Equal"}, comparison<MapOp::equal, false>},
      {{"", "Where"}, import_where},
      {{"", "PRelu"}, import_prelu},
      {{"", "Elu"}, import_elu},
      {{"", "Selu"}, import_selu},
      {{"", "Celu"}, import_celu},
      {{"", "Softplus"}, import_softplus},
      {{"", "Softsign"}, import_softsign},
      {{"", "Mish"}, import_mish},
      {{"", "ThresholdedRelu"}, import_thresholded_relu},
      {{"", "Shrink"}, import_shrink},
      {{"", "Gelu"}, import_gelu},
      {{"", "ReduceSum"}, reduce<ReductionOp::sum>},
      {{"", "ReduceMax"}, reduce<ReductionOp::max>},
      {{"", "ReduceMin"}, reduce<ReductionOp::min>},
      {{"", "ReduceProd"}, reduce<ReductionOp::product>},
      {{"", "ReduceSumSquare"}, reduce<ReductionOp::sum_square>},
      {{"", "ReduceL1"}, reduce<ReductionOp::sum_abs>},
      {{"", "ReduceMean"}, import_reduce_mean},
      {{"", "ReduceL2"}, import_reduce_l2},
      {{"", "ReduceLogSum"}, import_reduce_log_sum},
      {{"", "ReduceLogSumExp"}, import_reduce_log_sum_exp},
      {{"", "ArgMax"}, arg<ReductionOp::arg_max>},
      {{"", "ArgMin"}, arg<ReductionOp::arg_min>},
      {{"", "Softmax"}, softmax<false>},
      {{"", "LogSoftmax"}, softmax<true>},
      {{"", "LayerNormalization"}, import_layer_normalization},
      {{"", "RMSNormalization"}, import_rms_normalization},
      {{"", "SimplifiedLayerNormalization"}, import_rms_normalization},  // ONNX Runtime's name for it
      {{"", "InstanceNormalization"}, import_instance_normalization},
      {{"", "GroupNormalization"}, import_group_normalization},
      {{"", "BatchNormalization"}, import_batch_normalization},
      {{"", "LpNormalization"}, import_lp_normalization},
      {{"", "MeanVarianceNormalization"}, import_mean_variance_normalization},
      {{"", "ConvTranspose"}, import_conv_transpose},
      {{"", "GlobalMaxPool"}, import_global_max_pool},
      {{"", "GatherElements"}, import_gather_elements},
      {{"", "GatherND"}, import_gather_nd},
      {{"", "Einsum"}, import_einsum},
      {{"", "Tile"}, import_tile},
      {{"", "DepthToSpace"}, import_depth_to_space},
      {{"", "SpaceToDepth"}, import_space_to_depth},
      {{"", "Trilu"}, import_trilu},
      {{"", "OneHot"}, import_one_hot},
      {{"", "CastLike"}, import_cast_like},
      {{"", "DynamicQuantizeLinear"}, import_dynamic_quantize_linear},
      {{"com.microsoft", "Gelu"}, import_gelu},
      {{"com.microsoft", "FastGelu"}, import_fast_gelu},
      {{"com.microsoft", "BiasGelu"}, import_bias_gelu},
      {{"com.microsoft", "QuickGelu"}, import_quick_gelu},
      {{"com.microsoft", "FusedMatMul"}, import_fused_matmul},
      {{"com.microsoft", "QLinearSoftmax"}, import_qlinear_softmax},
      {{"com.microsoft", "SkipLayerNormalization"}, skip_normalization<true>},
      {{"com.microsoft", "SkipSimplifiedLayerNormalization"}, skip_normalization<false>},
      {{"", "QLinearConv"}, import_qlinear_conv},
      {{"", "QLinearMatMul"}, import_qlinear_matmul},
      {{"com.microsoft", "QuantizeLinear"}, import_quantize_linear},
      {{"com.microsoft", "DequantizeLinear"}, import_dequantize_linear},
      {{"com.microsoft", "QGemm"}, import_qgemm},
      {{"com.microsoft", "QLinearAdd"}, import_qlinear_add},
      {{"com.microsoft", "QLinearMul"}, import_qlinear_mul},
      {{"com.microsoft", "QLinearSigmoid"}, import_qlinear_sigmoid},
      {{"com.microsoft", "QLinearLeakyRelu"}, import_qlinear_leaky_relu},
      {{"com.microsoft", "QLinearAveragePool"}, import_qlinear_average_pool},
      {{"com.microsoft", "QLinearGlobalAveragePool"}, import_qlinear_global_average_pool},
      {{"com.microsoft", "QLinearConcat"}, import_qlinear_concat},
  };
  auto found = kOperators.find({domain, op_type});
  return found == kOperators.end() ? nullptr : found->second;
}

}  // namespace warpwright
