// Formula: what a map step computes, written as an expression over tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/graph.h"

namespace warpwright {

class Formula;

/// An operand or an intermediate result of a Formula. Numbers among its operands are float32.
struct Term {
  Formula* formula = nullptr;
  bool computed = false;
  int number = 0;
};

class Formula {
 public:
  explicit Formula(Graph& graph) : graph_(graph) {}
  Formula(const Formula&) = delete;
  Formula& operator=(const Formula&) = delete;

  Term tensor(TensorId id);
  /// The constant as a tensor of the graph, of the shape [].
  Term real(float value);
  Term integer(DType dtype, int64_t value);
  Term apply(MapOp op, const std::vector<Term>& arguments);

  DType dtype(Term term) const;
  bool is_operand(Term term) const { return !term.computed; }
  const std::vector<TensorId>& operands() const { return operands_; }
  /// The step that computes `result`, over the operands as its inputs. Throws InternalError unless `result` was
  /// computed last.
  Node step(Term result) const;

 private:
  Term constant(Tensor tensor);

  Graph& graph_;
  std::vector<TensorId> operands_;
  struct Computed {
    MapOp op;
    std::vector<Term> arguments;
    DType dtype;
  };
  std::vector<Computed> computed_;
};

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator-(Term a);
Term operator+(Term a, float b);
Term operator-(float a, Term b);
Term operator*(Term a, float b);
Term operator<(Term a, Term b);
Term operator<(Term a, float b);

Term absolute(Term x);
Term exponential(Term x);
Term logarithm(Term x);
Term error_function(Term x);
Term tanh(Term x);
Term square_root(Term x);
Term reciprocal(Term x);
Term minimum(Term a, Term b);
Term maximum(Term a, Term b);
Term select(Term condition, Term a, Term b);
MapOp conversion_to(DType dtype);
/// As Cast does it, but that floats beyond an integer type and integers beyond codes saturate.
Term converted(Term x, DType dtype);

// Activations that more than one operator is made of.
Term clamped(Term x, float lo, float hi);
Term sigmoid(Term x);
Term softplus(Term x);
Term hard_sigmoid(Term x, float alpha, float beta);
Term gelu(Term x);
Term gelu_by_tanh(Term x);

/// What an elementwise node of the graph means in float32, of kinds relu to mul; `other` is the second operand of add
/// and mul.
Term meaning(const Node& node, Term x, Term other);

}  // namespace warpwright
