// Buffers of a trial: allocation, guards, poison and comparison.
#include "measure/trial_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.h"
#include "src/core/half.h"

namespace warpwright {
namespace {

constexpr int64_t kGuard_bytes = 4096;
constexpr std::byte kGuardPattern{0xa5};

double element(const Tensor& tensor, int64_t index) {
  const size_t i = static_cast<size_t>(index);
  switch (tensor.dtype) {
    case DType::s8:
      return tensor.as<int8_t>()[i];
    case DType::u8:
      return tensor.as<uint8_t>()[i];
    case DType::s32:
      return tensor.as<int32_t>()[i];
    case DType::f32:
      return tensor.as<float>()[i];
    case DType::f16:
      return from_half(tensor.as<uint16_t>()[i]);
    case DType::s64:
      return static_cast<double>(tensor.as<int64_t>()[i]);
    case DType::boolean:
      return tensor.as<uint8_t>()[i];
  }
  throw InternalError("a tensor of no element type");
}

std::string place(const TensorForm& form, int64_t index) {
  int64_t n = 0, h = 0, w = 0, c = 0;
  if (form.layout == Layout::nhwc) {
    c = index % form.pixel_stride - form.channel_offset;
    const int64_t pixel = index / form.pixel_stride;
    w = pixel % form.w, h = pixel / form.w % form.h, n = pixel / (form.w * form.h);
    if (c < 0 || c >= form.c) {
      return fmt::format("n {}, h {}, w {}, pad lane {}", n, h, w, index % form.pixel_stride);
    }
  } else {
    w = index % form.w, h = index / form.w % form.h;
    c = index / (form.w * form.h) % form.c, n = index / (form.w * form.h * form.c);
  }
  return fmt::format("n {}, h {}, w {}, c {}", n, h, w, c);
}

Outcome outcome_of(OutcomeKind kind, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}

/// Whether the kernel owes this element of the output buffer: lanes of other tensors in the same pixels it leaves
/// alone.
bool is_written(const TensorForm& form, int64_t element) {
  if (form.layout != Layout::nhwc || owns_pad_lanes(form)) return true;
  const int64_t lane = element % form.pixel_stride - form.channel_offset;
  return lane >= 0 && lane < form.c;
}

}  // namespace

std::optional<std::string> difference(const TensorForm& form, const Tensor& expected, const Tensor& got) {
  if (expected.bytes == got.bytes) return std::nullopt;
  const int64_t count = expected.size();
  int64_t first = -1, wrong = 0;
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (equal_element(expected, got, i)) continue;
    if (first < 0) first = i;
    ++wrong;
    largest = std::fmax(largest, std::fabs(element(got, i) - element(expected, i)));
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("element {} ({}): got {}, expected {}; {} of {} elements differ, by {} at most", first,
                     place(form, first), element(got, first), element(expected, first), wrong, count, largest);
}

TrialBuffers::TrialBuffers(Device& device, const TrialData& data)
    : device_(device), data_(data), guard_bytes_(device.evidence() == Evidence::silicon ? kGuard_bytes : 0) {
  try {
    std::vector<DeviceAddress> inputs;
    for (size_t i = 0; i < data_.example.inputs.size(); ++i) {
      const Tensor& input = data_.example.inputs[i];
      inputs.push_back(add(fmt::format("input {}", i), static_cast<int64_t>(input.bytes.size()), &input).address);
    }
    const DeviceAddress output = add("output", static_cast<int64_t>(data_.expected.bytes.size()), nullptr).address;
    output_ = buffers_.size() - 1;
    for (size_t i = 0; i < data_.arguments.size(); ++i) {
      const KernelArgument& argument = data_.arguments[i];
      const Tensor& packed = data_.packed.at(i);
      switch (argument.role) {
        case KernelArgument::Role::input:
          arguments_.push_back(bind_address(inputs.at(static_cast<size_t>(argument.index))));
          break;
        case KernelArgument::Role::output:
          arguments_.push_back(bind_address(output));
          break;
        case KernelArgument::Role::constant:
          arguments_.push_back(
              bind_address(add(argument.name, static_cast<int64_t>(packed.bytes.size()), &packed).address));
          break;
        case KernelArgument::Role::scalar:
          arguments_.push_back(bind_scalar(packed));
          break;
        case KernelArgument::Role::workspace:
        case KernelArgument::Role::counters:
          arguments_.push_back(bind_address(add_scratch(argument)));
          break;
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

TrialBuffers::~TrialBuffers() { release(); }

void TrialBuffers::release() {
  for (const Buffer& buffer : buffers_) {
    try {
      device_.free(buffer.allocation);
    } catch (...) {  // after a fault the device may refuse everything; its process goes then
    }
  }
  buffers_.clear();
}

TrialBuffers::Buffer& TrialBuffers::add(std::string label, int64_t bytes, const Tensor* content) {
  Buffer buffer;
  buffer.allocation = device_.allocate(bytes + 2 * guard_bytes_, label, content != nullptr);
  buffer.address = buffer.allocation + static_cast<DeviceAddress>(guard_bytes_);
  buffer.bytes = bytes;
  buffer.content = content;
  buffer.label = std::move(label);
  buffers_.push_back(std::move(buffer));
  const Buffer& added = buffers_.back();
  if (guard_bytes_ > 0) {
    const std::vector<std::byte> guard(static_cast<size_t>(guard_bytes_), kGuardPattern);
    device_.upload(added.allocation, guard);
    device_.upload(added.address + static_cast<DeviceAddress>(bytes), guard);
  }
  if (content != nullptr) device_.upload(added.address, content->bytes);
  return buffers_.back();
}

DeviceAddress TrialBuffers::add_scratch(const KernelArgument& argument) {
  const bool counts = argument.role == KernelArgument::Role::counters;
  Buffer& buffer = add(counts ? "counters" : "workspace", argument.bytes, nullptr);
  (counts ? buffer.is_counters : buffer.is_workspace) = true;
  if (counts) device_.upload(buffer.address, std::vector<std::byte>(static_cast<size_t>(argument.bytes)));
  return buffer.address;
}

void TrialBuffers::poison() {
  poison_output();
  for (const Buffer& buffer : buffers_) {
    if (!buffer.is_workspace) continue;
    device_.upload(buffer.address, std::vector<std::byte>(static_cast<size_t>(buffer.bytes), kGuardPattern));
    device_.begin_life(buffer.address, buffer.bytes);
  }
}

void TrialBuffers::poison_output() {
  const TensorForm& form = data_.workload.output;
  std::vector<std::byte> poison = data_.expected.bytes;
  for (size_t i = 0; i < poison.size(); ++i) {
    if (is_written(form, static_cast<int64_t>(i / size_bytes(form.dtype)))) poison[i] = ~poison[i];
  }
  device_.upload(buffers_.at(output_).address, poison);
}

std::optional<std::string> TrialBuffers::guard_touched(const Buffer& buffer) {
  if (guard_bytes_ == 0) return std::nullopt;
  std::vector<std::byte> guard(static_cast<size_t>(guard_bytes_));
  const auto touched = [](std::byte byte) { return byte != kGuardPattern; };
  device_.download(guard, buffer.allocation);
  if (const auto last = std::find_if(guard.rbegin(), guard.rend(), touched); last != guard.rend()) {
    return fmt::format("wrote {} bytes before the start of {}", last - guard.rbegin() + 1, buffer.label);
  }
  device_.download(guard, buffer.address + static_cast<DeviceAddress>(buffer.bytes));
  if (const auto first = std::find_if(guard.begin(), guard.end(), touched); first != guard.end()) {
    return fmt::format("wrote {} bytes behind the end of {} ({} bytes)", first - guard.begin(), buffer.label,
                       buffer.bytes);
  }
  return std::nullopt;
}

std::optional<std::string> TrialBuffers::changed(const Buffer& buffer) {
  if (buffer.content == nullptr) return std::nullopt;
  std::vector<std::byte> now(static_cast<size_t>(buffer.bytes));
  device_.download(now, buffer.address);
  if (std::equal(now.begin(), now.end(), buffer.content->bytes.begin())) return std::nullopt;
  const auto [at, was] = std::mismatch(now.begin(), now.end(), buffer.content->bytes.begin());
  return fmt::format("changed {} at byte {} from {} to {}", buffer.label, at - now.begin(), static_cast<int>(*was),
                     static_cast<int>(*at));
}

std::optional<std::string> TrialBuffers::left_counting(const Buffer& buffer) {
  if (!buffer.is_counters) return std::nullopt;
  std::vector<uint32_t> now(static_cast<size_t>(buffer.bytes) / sizeof(uint32_t));
  device_.download(std::as_writable_bytes(std::span(now)), buffer.address);
  const auto first = std::find_if(now.begin(), now.end(), [](uint32_t count) { return count != 0; });
  if (first == now.end()) return std::nullopt;
  return fmt::format("the kernel leaves {} in counter {}, not 0", *first, first - now.begin());
}

std::optional<Outcome> TrialBuffers::fault(std::string_view when) {
  for (const Buffer& buffer : buffers_) {
    std::optional<std::string> fault = guard_touched(buffer);
    if (!fault) fault = changed(buffer);
    if (fault) return outcome_of(OutcomeKind::memory_fault, fmt::format("{}: the kernel {}", when, *fault));
  }
  for (const Buffer& buffer : buffers_) {
    if (const auto left = left_counting(buffer)) {
      return outcome_of(OutcomeKind::wrong_result, fmt::format("{}: {}", when, *left));
    }
  }
  Tensor got(data_.expected.dtype, data_.expected.shape);
  device_.download(got.bytes, buffers_.at(output_).address);
  if (const auto wrong = difference(data_.workload.output, data_.expected, got)) {
    return outcome_of(OutcomeKind::wrong_result, fmt::format("{}: {}", when, *wrong));
  }
  return std::nullopt;
}

}  // namespace warpwright
