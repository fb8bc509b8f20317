// Dump: tensors and sources of steps as files in a folder of their own, to be looked at elsewhere.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/core/program.h"
#include "src/core/tensor.h"

namespace warpwright {

/// The tensor that a step writes.
const ProgramTensor& output_of(const Program& program, size_t step);

class TensorDump {
 public:
  /// Makes the folder. Throws UsageError when there is anything in it already, EnvironmentError when it cannot be made
  /// or written.
  explicit TensorDump(std::filesystem::path folder);

  /// `step-0003.batch-0.conv_1.expected.npy`: the number of the step, the names of its ONNX nodes as far as they fit
  /// and are safe in a file name, and `what`.
  void write(const Program& program, size_t step, size_t batch, const std::string& what, const Tensor& tensor);
  /// `step-0003.conv_1.cu`.
  void write_source(const Program& program, size_t step, const std::string& source);

  const std::filesystem::path& folder() const { return folder_; }
  /// Names in the folder, in the order of writing.
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> files_;
};

}  // namespace warpwright
