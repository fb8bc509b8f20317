// The operators that are taken. Constant is read by the importer itself.
#include "src/import/operator_list.h"

#include <map>
#include <utility>

namespace warpwright {

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
