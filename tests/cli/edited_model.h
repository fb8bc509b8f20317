// Networks that differ a little from digits_qat: its file with bytes changed in place.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "src/graph/lowering.h"
#include "src/import/import.h"

namespace warpwright {

/// Puts `other`, of the same length, in the place of every `text`.
inline std::string with_replaced(std::string bytes, std::string_view text, std::string_view other) {
  size_t at = bytes.find(text);
  if (at == std::string::npos || text.size() != other.size()) throw std::runtime_error("no such edit of the model");
  for (; at != std::string::npos; at = bytes.find(text, at + text.size())) bytes.replace(at, text.size(), other);
  return bytes;
}

/// Other weights of one convolution.
inline std::string retrained(std::string model, const std::string& path) {
  const Program program = lower(import_onnx(path, {{"image", {2, 1, 8, 8}}}));
  for (const ProgramStep& step : program.steps) {
    const Window& window = step.workload.window;
    if (step.workload.kind != OpKind::conv2d || window.kernel_h != 1 || step.workload.groups != 1) continue;
    const std::vector<std::byte>& weights = step.values.at("weights").bytes;  // 1x1: in the order of the file
    const auto at = model.find(std::string_view(reinterpret_cast<const char*>(weights.data()), weights.size()));
    if (at == std::string::npos) continue;
    for (size_t i = 0; i < weights.size(); ++i) model[at + i] = static_cast<char>((i * 37) % 200 - 100);
    return model;
  }
  throw std::runtime_error("the model has no convolution to train anew");
}

/// The last convolution, conv4, by strides of 1: other tasks for it and for the pool behind it.
inline std::string with_other_strides(std::string model) {
  const std::string strides("strides@\x02@\x02");
  const size_t at = model.rfind(strides);
  if (at == std::string::npos) throw std::runtime_error("no such edit of the model");
  return model.replace(at, strides.size(), "strides@\x01@\x01");
}

}  // namespace warpwright
