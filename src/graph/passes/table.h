// Tables of 256 codes, computed from chains of elementwise operators.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace warpwright {

/// Output codes by input code, both as raw bytes.
using CodeTable = std::array<uint8_t, 256>;

Tensor to_tensor(const CodeTable& table);
CodeTable code_table(const Tensor& tensor);

int32_t code_of(DType dtype, uint8_t raw);

/// Whether the table gives min(max(code, lo), hi) for all 256 codes of `dtype`.
struct CodeClamp {
  int32_t lo = 0, hi = 0;
};
std::optional<CodeClamp> as_clamp(const CodeTable& table, DType dtype);

/// A chain of elementwise operators that ends in a QuantizeLinear (or a Clip of codes) and hangs on one 8-bit tensor.
struct ElementwiseChain {
  TensorId source = kNoTensor;
  CodeTable table{};
  std::vector<std::string> onnx_nodes;
};
/// The chain that ends with `last`, a quantize or a clip of codes. Nothing when it hangs on more than one tensor or
/// contains anything else.
std::optional<ElementwiseChain> elementwise_chain(const Graph& graph, const GraphIndex& index, const Node& last);

}  // namespace warpwright
