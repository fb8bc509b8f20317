// warpwright run: a model or a package on .npy inputs, outputs to .npy files.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "src/cli/arguments.h"
#include "src/cli/model.h"
#include "src/cli/verb.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/npy.h"
#include "src/device/device.h"
#include "src/graph/executor.h"
#include "src/runtime/session.h"

namespace warpwright {
namespace {

struct Options {
  std::string what, output, device, nvrtc;
  std::vector<std::string> inputs, shapes;
  bool fast = false;
};

TensorMap run_program_on_reference(const Program& program, const TensorMap& inputs) {
  TensorMap outputs;
  const int64_t batches = count_batches(program, inputs);
  for (int64_t i = 0; i < batches; ++i) append_batch(outputs, run_on_reference(program, batch_of(program, inputs, i)));
  return outputs;
}

TensorMap run_on_device(const Options& options, const TensorMap& inputs) {
  const auto device = [&] { return open_device(options.device, DeviceOptions{.checked = !options.fast}); };
  if (is_package(options.what)) {
    const Package package = load_package(options.what, target_of_device(options.device), inputs);
    count_batches(package.program, inputs);
    const auto opened = device();
    return Session(package, *opened).run(inputs);
  }
  const Model model = read_model_for(options.what, parse_shapes(options.shapes), inputs);
  count_batches(model.program, inputs);
  const auto opened = device();
  const Package package = default_package(model, opened->target(), options.nvrtc);
  return Session(package, *opened).run(inputs);
}

TensorMap run_on_reference(const Options& options, const TensorMap& inputs) {
  if (is_package(options.what)) {
    const PackageFile file(options.what);
    return run_program_on_reference(load_package(options.what, file.variants().front().target, inputs).program, inputs);
  }
  return run_program_on_reference(read_model_for(options.what, parse_shapes(options.shapes), inputs).program, inputs);
}

/// Paths by output name; refuses names that share a file and files that would be lost.
std::map<std::string, std::filesystem::path> output_paths(const Options& options, const TensorMap& outputs,
                                                          const Paths& read) {
  std::map<std::string, std::filesystem::path> paths;
  std::map<std::string, std::string> taken;
  for (const auto& [output, tensor] : outputs) {
    const std::string file = output_file_name(output);
    const auto [place, is_new] = taken.emplace(file, output);
    if (!is_new) throw UsageError(fmt::format("outputs `{}` and `{}` would both be {}", place->second, output, file));
    paths[output] = std::filesystem::path(options.output) / file;
    if (file_kind(options.output) == FileKind::folder) check_output(paths[output], {".npy file", is_npy}, read);
  }
  return paths;
}

int run(Options options) {
  const auto files = parse_files("--input", options.inputs);
  const bool package = is_package(options.what);
  if (package && !options.shapes.empty()) throw UsageError("--shape binds a model; a package has its shapes");
  if (options.device.empty()) options.device = package ? "auto" : "reference";
  const TensorMap inputs = read_tensors(files);
  const TensorMap outputs =
      options.device == "reference" ? run_on_reference(options, inputs) : run_on_device(options, inputs);
  Paths read{options.what};
  for (const auto& [input, file] : files) read.push_back(file);
  const auto paths = output_paths(options, outputs, read);
  make_output_folder(options.output);
  for (const auto& [output, path] : paths) {
    const Tensor& tensor = outputs.at(output);
    write_npy(path, tensor);
    fmt::print("{} {} [{}] {}\n", output, name(tensor.dtype), fmt::join(tensor.shape, ","), path.string());
  }
  return kDone;
}

}  // namespace

VerbBody run_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("what", options->what, "a model (.onnx) or a package; known by its content")->required();
  add_repeated(app, "--input", options->inputs, "an input: NAME=x.npy, one or several batches");
  app.add_option("--output", options->output, "folder for NAME.npy of each output")->required();
  app.add_option("--device", options->device,
                 "reference, virtual:rtx4090, cuda:0, auto (default: reference for a model, auto for a package)");
  add_repeated(app, "--shape", options->shapes, "bind the shape of a model's input: NAME=1,3,224,224");
  app.add_option("--nvrtc", options->nvrtc, "path of libnvrtc, for a model on a device");
  app.add_flag("--fast", options->fast, "a virtual device without its checks");
  return [options] { return run(*options); };
}

}  // namespace warpwright
