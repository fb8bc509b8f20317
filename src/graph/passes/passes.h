// The passes, one file each. Each takes the graph as the one before it leaves it, and drops the nodes it makes useless.
#pragma once

#include "src/graph/graph.h"

namespace warpwright {

/// Identity and Dropout: readers read what lies before.
void remove_identities(Graph& graph);
/// QuantizeLinear moves up, DequantizeLinear down over what only moves elements (Reshape, Transpose, Slice, Pad,
/// MaxPool, Concat), so that these work on codes.
void move_quantization(Graph& graph);
/// QuantizeLinear and movement of constants are done here and now.
void fold_constants(Graph& graph);
/// Conv and Gemm over dequantized codes become integer products: weights packed, bias as int32. So does MatMul of two
/// of them; a Transpose before its second operand becomes part of it.
void fold_products(Graph& graph);
/// Weights are centred where w - zero point fits s8; other u8 weights become s8 by xor 0x80.
void center_weights(Graph& graph);
/// Product, activation and QuantizeLinear become one step; so does a residual Add without Q and DQ before it. A product
/// whose sums are wanted becomes a step that gives them.
void fuse_requantization(Graph& graph);
/// Average pools between codes, by the integer rule.
void fuse_average_pools(Graph& graph);
/// Chains of elementwise operators between two 8-bit tensors become tables; Add and Mul of two such become steps.
void fuse_elementwise(Graph& graph);
/// What else works on codes becomes steps: ends of the network, max pools, concats, reshapes, movements.
void form_steps(Graph& graph);
/// Tables of tables become one; a table that only clamps becomes tighter bounds of the step before it.
void fold_tables(Graph& graph);
/// A rounded residual Add joins the product before it.
void fuse_residuals(Graph& graph);
/// A table joins the product before it.
void fuse_tables(Graph& graph);
/// NHWC with padded channels inside, NCHW at the ends, layout steps between where needed; forms and pad codes.
void choose_layouts(Graph& graph);

}  // namespace warpwright
