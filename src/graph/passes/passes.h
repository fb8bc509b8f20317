// The passes, one file each. Each takes the graph as the one before it leaves it, and drops the nodes it makes useless.
#pragma once

#include "src/graph/graph.h"

namespace warpwright {

constexpr size_t kMostParts = 64;  // of a concat or join

/// Identity and Dropout: readers read what lies before.
void remove_identities(Graph& graph);
/// QuantizeLinear moves up, DequantizeLinear down over what only moves elements (Reshape, Transpose, Slice, Pad,
/// MaxPool, Concat, Gather), so that these work on codes.
void move_quantization(Graph& graph);
/// QuantizeLinear, movement and float32 steps over constants are done here and now.
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
/// Notes of what is left why it is not in 8 bits.
void note_reasons(Graph& graph);
/// What else works on codes becomes steps: Q and DQ that are left, max pools, concats, reshapes; and movements.
void form_steps(Graph& graph);
/// What is left becomes float32 steps; what hangs on constants alone is computed.
void form_real_steps(Graph& graph);
/// Tables of tables become one; a table that only clamps becomes tighter bounds of the step before it.
void fold_tables(Graph& graph);
/// A rounded residual Add joins the product before it.
void fuse_residuals(Graph& graph);
/// A table joins the product before it.
void fuse_tables(Graph& graph);
/// A map that one other map alone reads joins it.
void fuse_maps(Graph& graph);
/// Constants become values of the float32 steps that read them.
void bind_constants(Graph& graph);
/// NHWC with padded channels inside, NCHW at the ends, layout steps between where needed; forms and pad codes.
void choose_layouts(Graph& graph);

}  // namespace warpwright
