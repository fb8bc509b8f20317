// Runs a Program on the reference, batch by batch.
#include "src/graph/executor.h"

#include <fmt/core.h>

#include <cstring>
#include <optional>

#include "src/core/error.h"
#include "src/graph/graph.h"
#include "src/reference/reference.h"

namespace warpwright {

namespace {

/// How many of the model's batches `tensor` holds; throws UsageError when it does not fit the port.
int64_t batches_in(const ProgramPort& port, const Tensor& tensor) {
  if (tensor.dtype != port.dtype) {
    throw UsageError(
        fmt::format("input '{}' is {}, the model takes {}", port.name, name(tensor.dtype), name(port.dtype)));
  }
  if (!holds_booleans(tensor)) {
    throw UsageError(fmt::format("input '{}' is boolean and holds a byte that is neither 0 nor 1", port.name));
  }
  bool fits = tensor.shape.size() == port.shape.size() && tensor.size() == element_count(tensor.shape);
  int64_t batches = 1;
  for (size_t i = 0; fits && i < port.shape.size(); ++i) {
    if (i > 0) {
      fits = tensor.shape[i] == port.shape[i];
    } else {
      fits = tensor.shape[0] > 0 && tensor.shape[0] % port.shape[0] == 0;
      batches = tensor.shape[0] / port.shape[0];
    }
  }
  if (!fits) {
    throw UsageError(
        fmt::format("input '{}' has shape {}, the model takes {} or several of these in the first dimension", port.name,
                    to_text(tensor.shape), to_text(port.shape)));
  }
  return batches;
}

int64_t checked_batches(const Program& program, const NamedTensors& inputs) {
  std::optional<int64_t> batches;
  std::string first;
  for (const ProgramPort& port : program.inputs) {
    auto found = inputs.find(port.name);
    if (found == inputs.end()) throw UsageError(fmt::format("input '{}' is missing", port.name));
    const int64_t own = batches_in(port, found->second);
    if (batches && *batches != own) {
      throw UsageError(
          fmt::format("input '{}' holds {} batches, input '{}' holds {}", first, *batches, port.name, own));
    }
    batches = own;
    first = port.name;
  }
  for (const auto& [name, tensor] : inputs) {
    bool known = false;
    for (const ProgramPort& port : program.inputs) known |= port.name == name;
    if (!known) throw UsageError(fmt::format("the model has no input '{}'", name));
  }
  return batches.value_or(1);
}

/// A run over one batch. Buffers are dropped after the last step that reads them.
class BatchRun {
 public:
  explicit BatchRun(const Program& program) : program_(program), buffers_(program.tensors.size()) {}

  void set_input(const ProgramPort& port, const Tensor& whole, int64_t batch) {
    Tensor buffer(port.dtype, {element_count(port.shape)});
    std::memcpy(buffer.bytes.data(), whole.bytes.data() + static_cast<size_t>(batch) * buffer.bytes.size(),
                buffer.bytes.size());
    buffers_[static_cast<size_t>(port.tensor)] = std::move(buffer);
  }

  void run(const std::function<void(size_t step, const Tensor& buffer)>& observe) {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const ProgramStep& step = program_.steps[i];
      std::vector<const Tensor*> inputs;
      for (int input : step.inputs) inputs.push_back(&buffers_[static_cast<size_t>(input)]);
      Tensor output = run_reference(step.workload, step.values, inputs);
      if (observe) observe(i, output);
      buffers_[static_cast<size_t>(step.output)] = std::move(output);
      for (int input : step.inputs) {
        if (program_.tensors[static_cast<size_t>(input)].last_step == static_cast<int>(i)) {
          buffers_[static_cast<size_t>(input)] = Tensor();
        }
      }
    }
  }

  const Tensor& buffer(int tensor) const { return buffers_[static_cast<size_t>(tensor)]; }

 private:
  const Program& program_;
  std::vector<Tensor> buffers_;
};

}  // namespace

void check_inputs(const Program& program, const NamedTensors& inputs) { checked_batches(program, inputs); }

NamedTensors run_on_reference(const Program& program, const NamedTensors& inputs,
                              const std::function<void(size_t step, const Tensor& buffer)>& observe) {
  const int64_t batches = checked_batches(program, inputs);
  NamedTensors outputs;
  for (const ProgramPort& port : program.outputs) {
    Shape shape = port.shape;
    if (shape.empty() && batches > 1) {
      throw UsageError(fmt::format("output '{}' has no first dimension to hold {} batches", port.name, batches));
    }
    if (!shape.empty()) shape[0] *= batches;
    outputs[port.name] = Tensor(port.dtype, shape);
  }
  for (int64_t batch = 0; batch < batches; ++batch) {
    BatchRun run(program);
    for (const ProgramPort& port : program.inputs) run.set_input(port, inputs.at(port.name), batch);
    run.run(observe);
    for (const ProgramPort& port : program.outputs) {
      const Tensor& buffer = run.buffer(port.tensor);
      std::memcpy(outputs.at(port.name).bytes.data() + static_cast<size_t>(batch) * buffer.bytes.size(),
                  buffer.bytes.data(), buffer.bytes.size());
    }
  }
  return outputs;
}

}  // namespace warpwright
