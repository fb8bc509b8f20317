// Arithmetic, comparisons and logic element by element, of float32 and of integers.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// All inputs of the node, at least one.
std::vector<Term> operands(OperatorContext& context, Formula& formula) {
  std::vector<Term> terms;
  for (int i = 0; i == 0 || context.has_input(i); ++i) terms.push_back(formula.tensor(context.input(i)));
  context.require_inputs(1, static_cast<int>(terms.size()));
  return terms;
}

/// The one element of a float32 constant; NaN when it is something else.
float scalar_or_nan(OperatorContext& context, int index) {
  const OnnxConstant* constant = context.constant_input(index);
  const bool scalar = constant && constant->type == kFloat32 && constant->size() == 1;
  return scalar ? context.constant_real(index) : std::numeric_limits<float>::quiet_NaN();
}

/// Codes as s32, in which they compare.
Term widened(Term x) { return is_code(x.formula->dtype(x)) ? converted(x, DType::s32) : x; }

/// The largest or smallest of all inputs.
void finish_extreme(OperatorContext& context, MapOp op) {
  Formula formula(context.graph);
  const std::vector<Term> terms = operands(context, formula);
  if (terms.size() == 1) return context.finish_alias();
  const DType dtype = formula.dtype(terms[0]);
  Term result = widened(terms[0]);
  for (size_t i = 1; i < terms.size(); ++i) {
    if (formula.dtype(terms[i]) != dtype) throw UsageError("the inputs have different types");
    result = formula.apply(op, {result, widened(terms[i])});
  }
  finish_formula(context, formula, converted(result, dtype));
}

/// The sum of all inputs, from the first to the last.
void finish_sum(OperatorContext& context, bool mean) {
  Formula formula(context.graph);
  const std::vector<Term> terms = operands(context, formula);
  if (terms.size() == 1) return context.finish_alias();
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) result = result + terms[i];
  if (mean) result = result / formula.real(static_cast<float>(terms.size()));
  finish_formula(context, formula, result);
}

}  // namespace

void import_unary_operation(OperatorContext& context, MapOp op) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  finish_formula(context, formula, formula.apply(op, {formula.tensor(context.input(0))}));
}

void import_binary_operation(OperatorContext& context, MapOp op) {
  context.require_inputs(2, 2);
  Formula formula(context.graph);
  const Term a = formula.tensor(context.input(0)), b = formula.tensor(context.input(1));
  finish_formula(context, formula, formula.apply(op, {a, b}));
}

void import_comparison(OperatorContext& context, MapOp op, bool swapped) {
  context.require_inputs(2, 2);
  Formula formula(context.graph);
  const Term a = widened(formula.tensor(context.input(swapped ? 1 : 0)));
  const Term b = widened(formula.tensor(context.input(swapped ? 0 : 1)));
  finish_formula(context, formula, formula.apply(op, {a, b}));
}

void import_sum(OperatorContext& context) { finish_sum(context, false); }
void import_mean(OperatorContext& context) { finish_sum(context, true); }
void import_max(OperatorContext& context) { finish_extreme(context, MapOp::maximum); }
void import_min(OperatorContext& context) { finish_extreme(context, MapOp::minimum); }

void import_tan(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const Term x = formula.tensor(context.input(0));
  const Term sine = formula.apply(MapOp::sine, {x});
  finish_formula(context, formula, sine / formula.apply(MapOp::cosine, {x}));
}

void import_pow(OperatorContext& context) {
  context.require_inputs(2, 2);
  Formula formula(context.graph);
  const Term x = formula.tensor(context.input(0));
  const float exponent = scalar_or_nan(context, 1);
  if (exponent == 2.0f) return finish_formula(context, formula, x * x);
  if (exponent == 3.0f) return finish_formula(context, formula, x * x * x);
  const Term y = converted(formula.tensor(context.input(1)), DType::f32);
  finish_formula(context, formula, formula.apply(MapOp::power, {x, y}));
}

void import_mod(OperatorContext& context) {
  const bool sign_of_dividend = context.attributes.integer("fmod", 0) != 0;
  import_binary_operation(context, sign_of_dividend ? MapOp::remainder : MapOp::modulo);
}

void import_is_inf(OperatorContext& context) {
  context.require_inputs(1, 1);
  const bool negative = context.attributes.integer("detect_negative", 1) != 0;
  const bool positive = context.attributes.integer("detect_positive", 1) != 0;
  Formula formula(context.graph);
  const Term x = formula.tensor(context.input(0));
  const Term infinity = formula.real(std::numeric_limits<float>::infinity());
  if (!negative && !positive) return finish_formula(context, formula, x < x);
  const Term looked_at = negative && positive ? absolute(x) : negative ? -x : x;
  finish_formula(context, formula, formula.apply(MapOp::equal, {looked_at, infinity}));
}

void import_where(OperatorContext& context) {
  context.require_inputs(3, 3);
  Formula formula(context.graph);
  finish_formula(
      context, formula,
      select(formula.tensor(context.input(0)), formula.tensor(context.input(1)), formula.tensor(context.input(2))));
}

}  // namespace warpwright
