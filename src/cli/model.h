// Model: an ONNX file as the verbs use it, lowered to a Program.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/compile/build_target.h"
#include "src/core/program.h"
#include "src/core/tensor.h"
#include "src/graph/graph.h"
#include "src/graph/report.h"
#include "src/import/import.h"
#include "src/runtime/batches.h"
#include "src/runtime/package.h"

namespace warpwright {

struct Model {
  Program program;
  std::vector<NodeReport> nodes;      // what became of each ONNX node
  std::string name;                   // of the file, without folder
  std::string digest;                 // of the file's bytes
  std::vector<std::string> left_out;  // what cannot be taken and was skipped, for people
};

/// Throws UsageError for a package in place of a model, and for all that import and lowering refuse.
Model read_model(const std::filesystem::path& path, const std::map<std::string, Shape>& shapes,
                 Unsupported unsupported = Unsupported::refused);
/// Warns of what was left out of the model.
void warn_of_left_out(const Model& model);

/// Dynamic dimensions that `shapes` leaves open take the extents of `inputs`.
Model read_model_for(const std::filesystem::path& path, std::map<std::string, Shape> shapes, const TensorMap& inputs);

/// The model on its default Configs, compiled in memory.
Package default_package(const Model& model, const Target& target, const std::string& nvrtc_path);

/// The variant of a package file that fits the card and the inputs.
Package load_package(const std::filesystem::path& path, const Target& target, const TensorMap& inputs);

}  // namespace warpwright
