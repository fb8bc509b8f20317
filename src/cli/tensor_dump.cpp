// Names and files of a dump.
#include "src/cli/tensor_dump.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/cli/arguments.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/npy.h"

namespace warpwright {
namespace {

/// File systems take names of 255 bytes, and long ones are a burden.
constexpr size_t kMostNameBytes = 80;

/// The first name, cut where it is long, and those behind it that still fit; of a step between nodes, as a change of
/// layout, its tensor's name. The number of the step alone keeps names of a dump apart and inside of the folder.
std::string nodes_text(const Program& program, size_t step) {
  std::string text;
  for (const std::string& node : program.steps[step].onnx_nodes) {
    const std::string part = safe_file_name(node);
    if (!text.empty() && text.size() + 1 + part.size() > kMostNameBytes) break;
    text += text.empty() ? part.substr(0, kMostNameBytes) : "+" + part;
  }
  if (!text.empty()) return text;
  return safe_file_name(output_of(program, step).name).substr(0, kMostNameBytes);
}

}  // namespace

const ProgramTensor& output_of(const Program& program, size_t step) {
  return program.tensors.at(static_cast<size_t>(program.steps[step].output));
}

TensorDump::TensorDump(std::filesystem::path folder) : folder_(std::move(folder)) {
  make_output_folder(folder_);
  std::error_code error;
  const bool is_empty = std::filesystem::is_empty(folder_, error);
  if (error) throw EnvironmentError(fmt::format("{}: cannot be read: {}", folder_.string(), error.message()));
  if (!is_empty) {
    throw UsageError(
        fmt::format("--dump-tensors {}: the folder is not empty, and nothing in it is overwritten; name another one",
                    folder_.string()));
  }
}

void TensorDump::write(const Program& program, size_t step, size_t batch, const std::string& what,
                       const Tensor& tensor) {
  const std::string file = fmt::format("step-{:04}.batch-{}.{}.{}.npy", step, batch, nodes_text(program, step), what);
  if (std::find(files_.begin(), files_.end(), file) != files_.end()) return;
  write_npy(folder_ / file, tensor);
  files_.push_back(file);
}

void TensorDump::write_source(const Program& program, size_t step, const std::string& source) {
  files_.push_back(fmt::format("step-{:04}.{}.cu", step, nodes_text(program, step)));
  write_file(folder_ / files_.back(), source);
}

}  // namespace warpwright
