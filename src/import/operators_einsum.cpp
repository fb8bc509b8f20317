// Einsum of one or two operands, each letter once an operand: as sums, transposes and one batched MatMul.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Equation read_equation(OperatorContext& context) {
  std::string text = context.attributes.text("equation", "");
  std::erase(text, ' ');
  Equation equation;
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    equation.operands.push_back(left.substr(0, comma));
    left.erase(0, comma + 1);
  }
  equation.operands.push_back(left);
  std::map<char, int> counts;
  for (const std::string& operand : equation.operands) {
    for (const char letter : operand) ++counts[letter];
  }
  if (arrow != std::string::npos) equation.result = text.substr(arrow + 2);
  for (const auto& [letter, count] : counts) {
    if (!std::isalpha(static_cast<unsigned char>(letter))) {
      throw UsageError(fmt::format("equation {}: only letters are supported", text));
    }
    if (arrow == std::string::npos && count == 1) equation.result += letter;
  }
  for (const std::string& letters : equation.operands) {
    if (std::any_of(letters.begin(), letters.end(),
                    [&](char c) { return std::count(letters.begin(), letters.end(), c) > 1; })) {
      throw UsageError(fmt::format("equation {}: a letter twice in one operand is not supported", text));
    }
  }
  for (const char letter : equation.result) {
    if (!counts.count(letter) || std::count(equation.result.begin(), equation.result.end(), letter) > 1) {
      throw UsageError(fmt::format("equation {}: the result's letters", text));
    }
  }
  return equation;
}

class Contraction {
 public:
  Contraction(OperatorContext& context, Equation equation) : context_(context), equation_(std::move(equation)) {
    for (size_t i = 0; i < equation_.operands.size(); ++i) {
      const GraphTensor& tensor = context_.input_tensor(static_cast<int>(i));
      require_real(tensor);
      const std::string& letters = equation_.operands[i];
      if (tensor.shape.size() != letters.size()) {
        throw UsageError(fmt::format("\"{}\" of shape {} has not {} dimensions", tensor.name, to_text(tensor.shape),
                                     letters.size()));
      }
      for (size_t k = 0; k < letters.size(); ++k) {
        const auto [at, fresh] = extents_.emplace(letters[k], tensor.shape[k]);
        if (!fresh && at->second != tensor.shape[k]) throw UsageError(fmt::format("two extents of {}", letters[k]));
      }
    }
  }

  void finish() {
    std::vector<TensorId> ids;
    std::vector<std::string> letters;
    for (size_t i = 0; i < equation_.operands.size(); ++i) {
      letters.push_back(equation_.operands[i]);
      ids.push_back(sum_alone(i, letters.back()));
    }
    if (ids.size() == 1) return place(ids[0], letters[0]);
    std::string batch, sum, rows, columns;
    for (const char letter : letters[0]) {
      const bool shared = letters[1].find(letter) != std::string::npos, stays = in_result(letter);
      (shared ? stays ? batch : sum : rows) += letter;
    }
    for (const char letter : letters[1]) {
      if (letters[0].find(letter) == std::string::npos) columns += letter;
    }
    const TensorId a = matrices(ids[0], letters[0], batch + rows + sum, extent(sum), "a");
    const TensorId b = matrices(ids[1], letters[1], batch + sum + columns, extent(columns), "b");
    Node node;
    node.kind = NodeKind::matmul;
    node.batch = extent(batch);
    const TensorId y = context_.add_inner(std::move(node), {a, b}, DType::f32,
                                          {extent(batch) * extent(rows), extent(columns)}, "product");
    const std::string order = batch + rows + columns;
    place(reshaped(context_, y, shape_of(order), "result"), order);
  }

 private:
  bool in_result(char letter) const { return equation_.result.find(letter) != std::string::npos; }

  int64_t extent(const std::string& letters) const {
    int64_t product = 1;
    for (const char letter : letters) product *= extents_.at(letter);
    return product;
  }

  Shape shape_of(const std::string& letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(extents_.at(letter));
    return shape;
  }

  /// The operand summed over letters that stand nowhere else; `letters` becomes those that stay.
  TensorId sum_alone(size_t operand, std::string& letters) {
    const TensorId id = context_.input(static_cast<int>(operand));
    std::vector<size_t> axes;
    std::string stay;
    for (size_t k = 0; k < letters.size(); ++k) {
      bool elsewhere = in_result(letters[k]);
      for (size_t i = 0; i < equation_.operands.size(); ++i) {
        elsewhere |= i != operand && equation_.operands[i].find(letters[k]) != std::string::npos;
      }
      if (elsewhere) {
        stay += letters[k];
      } else {
        axes.push_back(k);
      }
    }
    if (axes.empty()) return id;
    letters = stay;
    const std::string suffix = fmt::format("operand{}", operand);
    return reshaped(context_, reduced(context_, id, axes, ReductionOp::sum, suffix + "_sum"), shape_of(stay), suffix);
  }

  TensorId ordered(TensorId id, const std::string& from, const std::string& to, const std::string& suffix) {
    if (from == to) return id;
    std::vector<int64_t> order;
    for (const char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
    return transposed(context_, id, order, suffix);
  }

  TensorId matrices(TensorId id, const std::string& from, const std::string& to, int64_t columns,
                    const std::string& suffix) {
    id = ordered(id, from, to, suffix + "_ordered");
    return reshaped(context_, id, {extent(to) / columns, columns}, suffix);
  }

  void place(TensorId id, const std::string& letters) {
    id = ordered(id, letters, equation_.result, "ordered");
    Node identity;
    context_.finish(std::move(identity), {id}, DType::f32, shape_of(equation_.result));
  }

  OperatorContext& context_;
  const Equation equation_;
  std::map<char, int64_t> extents_;
};

}  // namespace

void import_einsum(OperatorContext& context) {
  Equation equation = read_equation(context);
  const auto operands = static_cast<int>(equation.operands.size());
  context.require_inputs(operands, operands);
  if (operands > 2) throw UsageError(fmt::format("{} operands are not supported", operands));
  Contraction(context, std::move(equation)).finish();
}

}  // namespace warpwright
