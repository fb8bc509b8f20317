// What must hold of a package before any of it reaches a device.
#include <fmt/core.h>

#include "src/core/error.h"
#include "src/runtime/package.h"

namespace warpwright {
namespace {

constexpr int64_t kMostBufferBytes = int64_t{1} << 40;

[[noreturn]] void refuse(const std::string& text) { throw UsageError(text); }

void check_form(const ProgramTensor& tensor) {
  const TensorForm& form = tensor.form;
  int64_t bytes = static_cast<int64_t>(size_bytes(form.dtype));
  const int64_t lanes = form.layout == Layout::nhwc ? form.pixel_stride : form.c;
  for (int64_t extent : {form.n, form.h, form.w, form.c, lanes}) {
    if (extent < 1 || extent > kMostBufferBytes) refuse(fmt::format("tensor {} has extent {}", tensor.name, extent));
  }
  for (int64_t extent : {form.n, form.h, form.w, lanes}) {
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMostBufferBytes) {
      refuse(fmt::format("tensor {} is too large", tensor.name));
    }
  }
  const bool fits = form.layout == Layout::nchw
                        ? form.pixel_stride == 0 && form.channel_offset == 0
                        : form.channel_offset >= 0 && form.channel_offset <= form.pixel_stride - form.c;
  if (!fits) refuse(fmt::format("tensor {} does not fit its pixel stride", tensor.name));
}

void check_tensors(const Program& program) {
  if (program.arena_bytes < 0 || program.arena_bytes > kMostBufferBytes) refuse("the arena has no sane size");
  const int steps = static_cast<int>(program.steps.size());
  for (const ProgramTensor& tensor : program.tensors) {
    check_form(tensor);
    if (tensor.arena_offset < 0 || tensor.arena_offset % 256 != 0 ||
        tensor.arena_offset > program.arena_bytes - tensor.form.buffer_bytes()) {
      refuse(fmt::format("tensor {} lies outside the arena", tensor.name));
    }
    if (tensor.first_step >= steps || tensor.last_step > steps || tensor.last_step < tensor.first_step) {
      refuse(fmt::format("tensor {} has no sane life", tensor.name));
    }
  }
}

void check_ports(const Program& program, const std::vector<ProgramPort>& ports) {
  std::map<std::string, int> names;
  for (const ProgramPort& port : ports) {
    if (names[port.name]++ > 0) refuse(fmt::format("two ports are named {}", port.name));
    if (port.tensor < 0 || port.tensor >= static_cast<int>(program.tensors.size())) {
      refuse(fmt::format("port {} has no tensor", port.name));
    }
    const TensorForm& form = program.tensors[static_cast<size_t>(port.tensor)].form;
    if (form.layout != Layout::nchw || form.dtype != port.dtype ||
        form.buffer_elements() != element_count(port.shape)) {
      refuse(fmt::format("port {} does not have the form of its tensor", port.name));
    }
  }
}

/// Whether a step that expects `form` may work on the tensor. In nchw the extents are free: the elements lie in order.
bool holds(const ProgramTensor& tensor, const TensorForm& form) {
  if (tensor.form == form) return true;
  return tensor.form.layout == Layout::nchw && form.layout == Layout::nchw && tensor.form.dtype == form.dtype &&
         tensor.form.buffer_elements() == form.buffer_elements();
}

void check_steps(const Program& program) {
  for (size_t number = 0; number < program.steps.size(); ++number) {
    const ProgramStep& step = program.steps[number];
    const int now = static_cast<int>(number);
    check(step.workload);
    check(step.workload, step.values);
    if (step.inputs.size() != step.workload.inputs.size()) refuse(fmt::format("step {} misses inputs", number));
    for (size_t input = 0; input < step.inputs.size(); ++input) {
      const ProgramTensor& tensor = program.tensors[static_cast<size_t>(step.inputs[input])];
      if (!holds(tensor, step.workload.inputs[input])) refuse(fmt::format("step {}: input of another form", number));
      if (tensor.first_step >= now || tensor.last_step < now)
        refuse(fmt::format("step {} reads a dead tensor", number));
    }
    const ProgramTensor& output = program.tensors[static_cast<size_t>(step.output)];
    if (!holds(output, step.workload.output)) refuse(fmt::format("step {}: output of another form", number));
    if (output.first_step > now || output.last_step < now) refuse(fmt::format("step {} writes a dead tensor", number));
  }
}

void check_argument(const KernelArgument& argument, const Tensor& packed, size_t inputs) {
  using Role = KernelArgument::Role;
  if (argument.role == Role::input && (argument.index < 0 || static_cast<size_t>(argument.index) >= inputs)) {
    refuse("a kernel reads an input that its step does not have");
  }
  if (argument.role == Role::scalar && packed.bytes.size() != 4) {
    refuse(fmt::format("scalar {} has {} bytes", argument.name, packed.bytes.size()));
  }
  if (argument.role == Role::constant && packed.bytes.empty()) {
    refuse(fmt::format("constant {} is missing", argument.name));
  }
  if (is_scratch(argument.role) && (argument.bytes < 4 || argument.bytes > kMostScratchBytes)) {
    refuse(fmt::format("scratch memory of {} bytes", argument.bytes));
  }
}

}  // namespace

void check(const Package& package) {
  check_tensors(package.program);
  check_ports(package.program, package.program.inputs);
  check_ports(package.program, package.program.outputs);
  check_steps(package.program);
  if (package.program.outputs.empty()) refuse("there is no output");
  if (package.steps.size() != package.program.steps.size()) refuse("the plan has not a kernel for each step");
  for (const PackageKernel& kernel : package.kernels) {
    const LaunchShape& launch = kernel.launch;
    const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (launch.block[0] > 1024 || launch.block[1] > 1024 || launch.block[2] > 1024 || threads > 1024) {
      refuse(fmt::format("kernel {} asks for {} threads", kernel.code.entry, threads));
    }
    if (kernel.code.arch != package.target.arch()) {
      refuse(fmt::format("kernel {} is made for {}", kernel.code.entry, kernel.code.arch));
    }
  }
  for (size_t number = 0; number < package.steps.size(); ++number) {
    const PackageStep& step = package.steps[number];
    if (step.kernel >= package.kernels.size()) refuse("a kernel is missing");
    const PackageKernel& kernel = package.kernels[step.kernel];
    if (step.packed.size() != kernel.arguments.size()) refuse("arguments are missing");
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      check_argument(kernel.arguments[i], step.packed[i], package.program.steps[number].inputs.size());
    }
  }
}

}  // namespace warpwright
