// Arithmetic on constants. Integers wrap within their type; reals are computed in float64 and rounded once to theirs.
#pragma once

#include <string>
#include <vector>

#include "src/import/attributes.h"
#include "src/import/constants.h"

namespace warpwright {

/// A constant computed by folding has at most so many elements; what is larger is left to the graph.
constexpr int64_t kMostFoldedElements = int64_t{1} << 21;

/// Whether constants of the type can be computed with.
bool is_numeric(int type);

/// The elementwise operator of this name, over one or more constants that broadcast. Throws UsageError: types that
/// differ or do not fit the operator, shapes that do not broadcast, division of integers by 0.
bool is_elementwise_operator(const std::string& op_type);
OnnxConstant elementwise(const std::string& op_type, Attributes& attributes,
                         const std::vector<const OnnxConstant*>& inputs);

/// ReduceSum, ReduceProd, ReduceMin, ReduceMax over the dimensions that are marked.
OnnxConstant reduced(const std::string& op_type, const OnnxConstant& x, const std::vector<bool>& over, bool keep);

/// start, start + delta, ... before limit; one constant each, of one type.
OnnxConstant range(const OnnxConstant& start, const OnnxConstant& limit, const OnnxConstant& delta);

/// Elements of `a` where the bool holds, else of `b`.
OnnxConstant where(const OnnxConstant& condition, const OnnxConstant& a, const OnnxConstant& b);

/// For each element of a tensor of shape `to`, the element of one of shape `from` that broadcasting takes.
std::vector<size_t> broadcast_positions(const Shape& from, const Shape& to);

}  // namespace warpwright
