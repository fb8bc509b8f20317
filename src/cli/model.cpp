// Reading models and packages for the verbs.
#include "src/cli/model.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <csignal>
#include <vector>

#include "src/cli/signals.h"
#include "src/compile/package_writer.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/core/log.h"
#include "src/graph/lowering.h"
#include "src/import/input_shapes.h"

namespace warpwright {

Model read_model(const std::filesystem::path& path, const std::map<std::string, Shape>& shapes,
                 Unsupported unsupported) {
  if (is_package(path)) throw UsageError(fmt::format("{}: is a package, a model (.onnx) is asked for", path.string()));
  Model model;
  ImportedGraph imported = import_onnx(path, shapes, unsupported);
  Lowered lowered = lower_with_report(std::move(imported.graph));
  model.left_out = std::move(imported.left_out);
  model.program = std::move(lowered.program);
  model.nodes = std::move(lowered.nodes);
  mark_left_out(model.nodes, imported.why_left_out);
  model.name = path.filename().string();
  model.digest = sha256_of_file(path);
  return model;
}

void warn_of_left_out(const Model& model) {
  if (model.left_out.empty()) return;
  log_warning("{} node{} of {} left out:\n{}", model.left_out.size(), model.left_out.size() == 1 ? "" : "s", model.name,
              fmt::join(model.left_out, "\n"));
}

Model read_model_for(const std::filesystem::path& path, std::map<std::string, Shape> shapes, const TensorMap& inputs) {
  if (is_package(path)) return read_model(path, shapes);
  const std::map<std::string, Shape> declared_shapes = declared_input_shapes(path);
  for (const auto& [input, tensor] : inputs) {
    if (declared_shapes.contains(input)) continue;
    std::vector<std::string> names;
    for (const auto& [name, shape] : declared_shapes) names.push_back(name);
    throw UsageError(
        fmt::format("--input {}: the model has no input of this name; it has {}", input, fmt::join(names, ", ")));
  }
  for (const auto& [input, declared] : declared_shapes) {
    const auto given = inputs.find(input);
    if (shapes.contains(input) || given == inputs.end() || given->second.shape.size() != declared.size()) continue;
    Shape bound = declared;
    bool dynamic = false;
    for (size_t i = 0; i < bound.size(); ++i) {
      if (bound[i] >= 0) continue;
      bound[i] = given->second.shape[i];
      dynamic = true;
    }
    if (dynamic) shapes[input] = bound;
  }
  return read_model(path, shapes);
}

Package default_package(const Model& model, const Target& target, const std::string& nvrtc_path) {
  const BestHistory defaults(nullptr, {target, false}, EvidencePolicy::prefer);
  Plan plan = make_plan(model.program, {target, false}, [&](const Task& task) { return defaults.choose(task); });
  BuilderOptions options;
  options.nvrtc_path = nvrtc_path;
  int status = 0;
  {
    StopSignals signals;
    options.stop = signals.flag();
    try {
      compile(plan, options);
    } catch (const EnvironmentError&) {
      if (signals.exit_status() == 0) throw;
    }
    status = signals.exit_status();
  }
  if (status != 0) std::raise(status - 128);  // the workers and their folder are gone: end as the signal asks
  return make_package(model.program, plan);
}

Package load_package(const std::filesystem::path& path, const Target& target, const TensorMap& inputs) {
  const PackageFile file(path);
  const PackageFile::Variant& fitting = file.variant_for(target);
  // Of several profiles on that card, the one that the inputs fit.
  for (const PackageFile::Variant& variant : file.variants()) {
    if (key(variant.target) != key(fitting.target)) continue;
    bool fits = true;
    for (const auto& [input, shape] : variant.input_shapes) {
      const auto given = inputs.find(input);
      fits = fits && given != inputs.end() && given->second.shape == shape;
    }
    if (fits) return file.load(variant);
  }
  return file.load(fitting);
}

}  // namespace warpwright
