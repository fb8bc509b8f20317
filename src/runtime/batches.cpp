// Cutting inputs into batches.
#include "src/runtime/batches.h"

#include <fmt/format.h>

#include "src/core/error.h"

namespace warpwright {
namespace {

std::string text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string port_names(const std::vector<ProgramPort>& ports) {
  std::vector<std::string> names;
  for (const ProgramPort& port : ports) names.push_back("`" + port.name + "`");
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Batches in one input, 0 when its shape does not fit.
int64_t batches_in(const Tensor& tensor, const ProgramPort& port) {
  if (tensor.shape == port.shape) return 1;
  if (port.shape.empty() || tensor.shape.size() != port.shape.size() || port.shape[0] < 1) return 0;
  if (!std::equal(port.shape.begin() + 1, port.shape.end(), tensor.shape.begin() + 1)) return 0;
  return tensor.shape[0] % port.shape[0] == 0 ? tensor.shape[0] / port.shape[0] : 0;
}

}  // namespace

int64_t count_batches(const Program& program, const TensorMap& inputs) {
  for (const auto& [input, tensor] : inputs) {
    const bool known = std::any_of(program.inputs.begin(), program.inputs.end(),
                                   [&name = input](const ProgramPort& port) { return port.name == name; });
    if (!known) {
      throw UsageError(fmt::format("the model has no input `{}`; it has {}", input, port_names(program.inputs)));
    }
  }
  int64_t batches = 0;
  for (const ProgramPort& port : program.inputs) {
    const auto found = inputs.find(port.name);
    if (found == inputs.end()) {
      throw UsageError(fmt::format("input `{}` is missing; give --input {}=FILE.npy", port.name, port.name));
    }
    const Tensor& tensor = found->second;
    if (tensor.dtype != port.dtype) {
      throw UsageError(
          fmt::format("input `{}` has type {}, the model takes {}", port.name, name(tensor.dtype), name(port.dtype)));
    }
    if (!holds_booleans(tensor)) {
      throw UsageError(fmt::format("input `{}` is boolean and holds a byte that is neither 0 nor 1", port.name));
    }
    const int64_t count = batches_in(tensor, port);
    if (count < 1) {
      throw UsageError(fmt::format("input `{}` has shape {}, the model takes {} (or several in the first dimension)",
                                   port.name, text(tensor.shape), text(port.shape)));
    }
    if (batches != 0 && count != batches) {
      throw UsageError(fmt::format("input `{}` holds {} batches, another holds {}", port.name, count, batches));
    }
    batches = count;
  }
  return std::max<int64_t>(batches, 1);
}

TensorMap batch_of(const Program& program, const TensorMap& inputs, int64_t index) {
  TensorMap batch;
  for (const ProgramPort& port : program.inputs) {
    Tensor tensor(port.dtype, port.shape);
    const auto from = inputs.at(port.name).bytes.begin() + index * static_cast<int64_t>(tensor.bytes.size());
    std::copy(from, from + static_cast<int64_t>(tensor.bytes.size()), tensor.bytes.begin());
    batch.emplace(port.name, std::move(tensor));
  }
  return batch;
}

void append_batch(TensorMap& outputs, TensorMap batch) {
  for (auto& [output, tensor] : batch) {
    const auto [place, is_new] = outputs.try_emplace(output, std::move(tensor));
    if (is_new) continue;
    Tensor& whole = place->second;
    if (whole.shape.empty()) throw UsageError(fmt::format("output `{}` is a scalar: one batch only", output));
    whole.shape[0] += tensor.shape[0];
    whole.bytes.insert(whole.bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
}

}  // namespace warpwright
