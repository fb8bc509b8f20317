// Runs a package: constants uploaded once, the arena planned by the package, launches bound once.
#include "src/runtime/session.h"

#include <fmt/format.h>

#include "src/core/hash.h"

namespace warpwright {

Session::Session(const Package& package, Device& device) : package_(package), device_(device) {
  check(package);
  if (package.target.compute_capability() > device.target().compute_capability()) {
    throw EnvironmentError(fmt::format(
        "the package is built for {} ({}), the device is {} ({}): build it for that card", package.target.device_name,
        package.target.arch(), device.target().device_name, device.target().arch()));
  }
  try {
    load_kernels();
    arena_ = device_.allocate(std::max<int64_t>(package.program.arena_bytes, 256), "arena");
    allocations_.push_back(arena_);
    allocate_scratch();
    for (size_t step = 0; step < package.steps.size(); ++step) bind_step(step);
  } catch (...) {
    for (DeviceAddress allocation : allocations_) device_.free(allocation);
    throw;
  }
}

Session::~Session() {
  for (DeviceAddress allocation : allocations_) {
    try {
      device_.free(allocation);
    } catch (const Error&) {
      // The device is lost, and its memory with it.
    }
  }
}

void Session::load_kernels() {
  for (const PackageKernel& kernel : package_.kernels) kernels_.push_back(device_.load(kernel.code));
}

void Session::allocate_scratch() {
  for (const PackageKernel& kernel : package_.kernels) {
    for (const KernelArgument& argument : kernel.arguments) {
      if (argument.role == KernelArgument::Role::workspace) {
        workspace_bytes_ = std::max(workspace_bytes_, argument.bytes);
      } else if (argument.role == KernelArgument::Role::counters) {
        counters_bytes_ = std::max(counters_bytes_, argument.bytes);
      }
    }
  }
  if (workspace_bytes_ > 0) {
    workspace_ = device_.allocate(workspace_bytes_, "workspace");
    allocations_.push_back(workspace_);
  }
  if (counters_bytes_ > 0) {
    counters_ = device_.allocate(counters_bytes_, "counters");
    allocations_.push_back(counters_);
  }
}

/// Kernels leave the counters zero, but one that faulted may not have.
void Session::reset_counters() {
  if (counters_bytes_ == 0) return;
  device_.upload(counters_, std::vector<std::byte>(static_cast<size_t>(counters_bytes_)));
}

DeviceAddress Session::constant(const Tensor& packed, const std::string& label) {
  const std::string hash = sha256_hex(packed.bytes);
  if (const auto known = constants_.find(hash); known != constants_.end()) return known->second;
  const DeviceAddress address = device_.allocate(static_cast<int64_t>(packed.bytes.size()), label, true);
  allocations_.push_back(address);
  device_.upload(address, packed.bytes);
  return constants_[hash] = address;
}

DeviceAddress Session::address(int tensor) const {
  return arena_ + static_cast<uint64_t>(package_.program.tensors[static_cast<size_t>(tensor)].arena_offset);
}

void Session::bind_step(size_t number) {
  const ProgramStep& step = package_.program.steps[number];
  const PackageStep& planned = package_.steps[number];
  const PackageKernel& kernel = package_.kernels[planned.kernel];
  Launch launch{kernels_[planned.kernel], kernel.launch, {}};
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    switch (argument.role) {
      case KernelArgument::Role::input:
        launch.arguments.push_back(bind_address(address(step.inputs[static_cast<size_t>(argument.index)])));
        break;
      case KernelArgument::Role::output:
        launch.arguments.push_back(bind_address(address(step.output)));
        break;
      case KernelArgument::Role::constant:
        launch.arguments.push_back(
            bind_address(constant(planned.packed[i], fmt::format("{} of step {}", argument.name, number))));
        break;
      case KernelArgument::Role::scalar:
        launch.arguments.push_back(bind_scalar(planned.packed[i]));
        break;
      case KernelArgument::Role::workspace:
        launch.arguments.push_back(bind_address(workspace_));
        break;
      case KernelArgument::Role::counters:
        launch.arguments.push_back(bind_address(counters_));
        break;
    }
  }
  launches_.push_back(std::move(launch));
}

/// Buffers that this step is the first to write hold nothing yet, unless they share their place with a live one;
/// nor does the workspace.
void Session::begin_lives(size_t number) {
  const std::vector<ProgramTensor>& tensors = package_.program.tensors;
  const int now = static_cast<int>(number);
  for (const ProgramTensor& tensor : tensors) {
    if (tensor.first_step != now) continue;
    const int64_t begin = tensor.arena_offset, end = begin + tensor.form.buffer_bytes();
    const bool shared = std::any_of(tensors.begin(), tensors.end(), [&](const ProgramTensor& other) {
      return other.first_step < now && other.last_step >= now && other.arena_offset < end &&
             other.arena_offset + other.form.buffer_bytes() > begin;
    });
    if (!shared) device_.begin_life(arena_ + static_cast<uint64_t>(begin), end - begin);
  }
  if (workspace_bytes_ > 0) device_.begin_life(workspace_, workspace_bytes_);
}

void Session::launch(size_t number) {
  const Outcome outcome = device_.launch(launches_[number]);
  if (outcome.ok()) return;
  const ProgramStep& step = package_.program.steps[number];
  const std::string text = fmt::format("step {} ({}; ONNX {}): {}: {}", number, step.workload.summary(),
                                       fmt::join(step.onnx_nodes, ", "), name(outcome.kind), outcome.message);
  if (is_transient(outcome.kind)) throw EnvironmentError(text);
  throw LaunchFault(text);
}

Tensor Session::download(int tensor) const {
  const TensorForm& form = package_.program.tensors[static_cast<size_t>(tensor)].form;
  Tensor buffer(form.dtype, {form.buffer_elements()});
  device_.download(buffer.bytes, address(tensor));
  return buffer;
}

TensorMap Session::run_batch(const TensorMap& inputs, size_t batch, const StepObserver& observe) {
  const Program& program = package_.program;
  // Nothing of an earlier batch may serve this one.
  device_.begin_life(arena_, std::max<int64_t>(program.arena_bytes, 256));
  reset_counters();
  const TensorMap cut = batch_of(program, inputs, static_cast<int64_t>(batch));
  for (const ProgramPort& port : program.inputs) device_.upload(address(port.tensor), cut.at(port.name).bytes);
  for (size_t step = 0; step < program.steps.size(); ++step) {
    begin_lives(step);
    launch(step);
    if (observe) observe(step, download(program.steps[step].output));
  }
  TensorMap outputs;
  for (const ProgramPort& port : program.outputs) {
    Tensor output = download(port.tensor);
    output.shape = port.shape;
    outputs.emplace(port.name, std::move(output));
  }
  return outputs;
}

TensorMap Session::run(const TensorMap& inputs, const StepObserver& observe) {
  const int64_t batches = count_batches(package_.program, inputs);
  TensorMap outputs;
  for (int64_t batch = 0; batch < batches; ++batch) {
    append_batch(outputs, run_batch(inputs, static_cast<size_t>(batch), observe));
  }
  return outputs;
}

Tensor Session::run_step(size_t number, std::span<const Tensor* const> inputs) {
  const ProgramStep& step = package_.program.steps.at(number);
  if (inputs.size() != step.inputs.size()) throw InternalError("run_step: wrong number of inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorForm& form = package_.program.tensors[static_cast<size_t>(step.inputs[i])].form;
    if (static_cast<int64_t>(inputs[i]->bytes.size()) != form.buffer_bytes()) {
      throw InternalError("run_step: an input has the wrong size");
    }
    device_.upload(address(step.inputs[i]), inputs[i]->bytes);
  }
  reset_counters();
  begin_lives(number);
  launch(number);
  return download(step.output);
}

Outcome Session::time(const TimingOptions& options) { return device_.time_sequence(launches_, options); }

Outcome Session::time_step(size_t step, const TimingOptions& options) {
  return device_.time(launches_.at(step), options);
}

}  // namespace warpwright
