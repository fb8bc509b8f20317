// Activations in float32 that no 8-bit kernel knows; those that one knows stand in operators_elementwise.cpp.
#include <fmt/core.h>

#include <cmath>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

/// The one float32 input of the node.
Term real_operand(OperatorContext& context, Formula& formula, int index = 0) {
  require_real(context.input_tensor(index));
  return formula.tensor(context.input(index));
}

float finite(OperatorContext& context, const char* name, float otherwise) {
  const float value = context.attributes.real(name, otherwise);
  if (!std::isfinite(value)) throw UsageError(fmt::format("{} is {}", name, value));
  return value;
}

/// scale * (x where x > 0, else alpha * (exp(x / by) - 1)).
Term exponential_linear(Term x, float alpha, float scale, float by = 1.0f) {
  Formula& formula = *x.formula;
  const Term exponent = by == 1.0f ? x : x / formula.real(by);
  Term below = exponential(exponent) + -1.0f;
  if (alpha * scale != 1.0f) below = below * (alpha * scale);
  return select(formula.real(0.0f) < x, scale == 1.0f ? x : x * scale, below);
}

}  // namespace

void import_prelu(OperatorContext& context) {
  context.require_inputs(2, 2);
  Formula formula(context.graph);
  const Term x = real_operand(context, formula), slope = real_operand(context, formula, 1);
  finish_formula(context, formula, select(x < 0.0f, x * slope, x));
}

void import_elu(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const float alpha = finite(context, "alpha", 1.0f);
  finish_formula(context, formula, exponential_linear(real_operand(context, formula), alpha, 1.0f));
}

void import_selu(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const float alpha = finite(context, "alpha", 1.67326319217681884765625f);
  const float gamma = finite(context, "gamma", 1.05070102214813232421875f);
  finish_formula(context, formula, exponential_linear(real_operand(context, formula), alpha, gamma));
}

void import_celu(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const float alpha = finite(context, "alpha", 1.0f);
  if (alpha == 0) throw UsageError("alpha is 0");
  finish_formula(context, formula, exponential_linear(real_operand(context, formula), alpha, 1.0f, alpha));
}

void import_softplus(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  finish_formula(context, formula, softplus(real_operand(context, formula)));
}

void import_softsign(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const Term x = real_operand(context, formula);
  finish_formula(context, formula, x / (absolute(x) + 1.0f));
}

void import_mish(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const Term x = real_operand(context, formula);
  finish_formula(context, formula, x * tanh(softplus(x)));
}

void import_thresholded_relu(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const Term x = real_operand(context, formula);
  const Term alpha = formula.real(finite(context, "alpha", 1.0f));
  finish_formula(context, formula, select(alpha < x, x, formula.real(0.0f)));
}

void import_shrink(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const float lambd = finite(context, "lambd", 0.5f), bias = finite(context, "bias", 0.0f);
  const Term x = real_operand(context, formula);
  const Term above = select(formula.real(lambd) < x, x + -bias, formula.real(0.0f));
  finish_formula(context, formula, select(x < -lambd, x + bias, above));
}

void import_gelu(OperatorContext& context) {
  context.require_inputs(1, 1);
  const std::string approximate = context.attributes.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") throw UsageError(fmt::format("approximate {}", approximate));
  Formula formula(context.graph);
  const Term x = real_operand(context, formula);
  finish_formula(context, formula, approximate == "tanh" ? gelu_by_tanh(x) : gelu(x));
}

void import_fast_gelu(OperatorContext& context) {
  context.require_inputs(1, 2);
  Formula formula(context.graph);
  Term x = real_operand(context, formula);
  if (context.has_input(1)) x = x + real_operand(context, formula, 1);
  finish_formula(context, formula, gelu_by_tanh(x));
}

void import_bias_gelu(OperatorContext& context) {
  context.require_inputs(2, 2);
  Formula formula(context.graph);
  const Term x = real_operand(context, formula) + real_operand(context, formula, 1);
  finish_formula(context, formula, gelu(x));
}

void import_quick_gelu(OperatorContext& context) {
  context.require_inputs(1, 1);
  Formula formula(context.graph);
  const float alpha = finite(context, "alpha", 1.702f);
  const Term x = real_operand(context, formula);
  finish_formula(context, formula, x * sigmoid(alpha == 1.0f ? x : x * alpha));
}

}  // namespace warpwright
