// warpwright verify: a package against the reference or against expected outputs, whole and kernel by kernel.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "src/cli/arguments.h"
#include "src/cli/comparison.h"
#include "src/cli/model.h"
#include "src/cli/table.h"
#include "src/cli/tensor_dump.h"
#include "src/cli/verb.h"
#include "src/cli/verify_layers.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/device/device.h"
#include "src/runtime/session.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, package, device = "auto", dump_folder;
  std::vector<std::string> inputs, expected, shapes;
  Tolerance tolerance;
  bool per_layer = false, fast = false, json = false;
};

/// Prints the comparison of whole outputs; true when all are right.
bool report_outputs(const TensorMap& got, const TensorMap& expected, const Options& options, Json& document) {
  Table table({"output", ">elements", ">wrong", "first wrong", "got", "expected", ">largest difference"});
  bool right = true;
  for (const auto& [output, theirs] : expected) {
    const auto ours = got.find(output);
    if (ours == got.end())
      throw UsageError(fmt::format("--expect names `{}`, which is no output of the model", output));
    const Difference difference = compare("output `" + output + "`", ours->second, theirs, options.tolerance);
    right = right && difference.wrong == 0;
    const bool wrong = difference.wrong > 0;
    table.add({output, std::to_string(difference.elements), std::to_string(difference.wrong),
               wrong ? index_text(theirs.shape, difference.first_wrong) : "-", wrong ? difference.got : "-",
               wrong ? difference.expected : "-", fmt::format("{}", difference.largest)});
    document["outputs"][output] = to_json(difference, theirs.shape);
  }
  if (!options.json) table.print();
  return right;
}

void report_layers(const Program& program, const Package& package, const LayerReport& report, const Options& options,
                   Json& document) {
  add_layers(document, program, package, report);
  if (!options.json) print_layers(program, package, report);
}

void report_dump(const TensorDump& dump, const Options& options, Json& document) {
  document["dump"] = {{"folder", dump.folder().string()}, {"files", dump.files()}};
  if (!options.json) fmt::print("{} files written to {}\n", dump.files().size(), dump.folder().string());
}

TensorMap expected_outputs(const Options& options) { return read_tensors(parse_files("--expect", options.expected)); }

/// The reference itself against expected outputs.
bool verify_reference(const Options& options, const TensorMap& inputs, Json& document) {
  if (options.expected.empty()) throw UsageError("`verify MODEL reference` needs --expect NAME=y.npy");
  if (options.per_layer) throw UsageError("--per-layer compares a package with the reference: name a package");
  const TensorMap expected = expected_outputs(options);
  const Model model = read_model_for(options.model, parse_shapes(options.shapes), inputs);
  return report_outputs(run_reference_on(model.program, inputs, false).outputs, expected, options, document);
}

bool verify_package(const Options& options, const TensorMap& inputs, Json& document) {
  const Package package = load_package(options.package, target_of_device(options.device), inputs);
  count_batches(package.program, inputs);
  TensorMap expected = expected_outputs(options);
  std::optional<TensorDump> dump;
  if (!options.dump_folder.empty()) dump.emplace(options.dump_folder);
  std::unique_ptr<Model> model;
  ReferenceRun reference;
  if (expected.empty() || options.per_layer) {
    // The package's batch is the model's: what is open is bound to it, unless --shape says otherwise.
    std::map<std::string, Shape> shapes = parse_shapes(options.shapes);
    TensorMap bound;
    for (const ProgramPort& port : package.program.inputs) bound.emplace(port.name, Tensor(port.dtype, port.shape));
    model = std::make_unique<Model>(read_model_for(options.model, shapes, bound));
    if (options.per_layer) check_same_network(model->program, package.program);
    reference = run_reference_on(model->program, inputs, options.per_layer);
    if (expected.empty()) expected = reference.outputs;
  }
  const auto device = open_device(options.device, DeviceOptions{.checked = !options.fast});
  Session session(package, *device);
  if (!options.per_layer) return report_outputs(session.run(inputs), expected, options, document);
  LayerReport report;
  ChainedComparison chained(model->program, reference, options.tolerance, report);
  const TensorMap outputs =
      session.run(inputs, [&](size_t step, const Tensor& buffer) { chained.observe(step, buffer); });
  const bool right = report_outputs(outputs, expected, options, document);
  compare_alone(model->program, session, reference, inputs, options.tolerance, report);
  report_layers(model->program, package, report, options, document);
  if (dump) {
    dump_layers(*dump, model->program, package, reference, report);
    report_dump(*dump, options, document);
  }
  return right && report.right();
}

int verify(const Options& options) {
  const TensorMap inputs = read_tensors(parse_files("--input", options.inputs));
  Json document{{"schema", "warpwright.verify/1"}};
  const bool right = options.package == "reference" ? verify_reference(options, inputs, document)
                                                    : verify_package(options, inputs, document);
  document["right"] = right;
  if (options.json) {
    fmt::print("{}\n", json_document(document));
  } else {
    const bool exact = options.tolerance.lsb == 0 && options.tolerance.rtol == 0 && options.tolerance.atol == 0;
    fmt::print("{}\n", right ? (exact ? "bit-exact" : "within tolerance") : "WRONG");
  }
  return right ? kDone : kAnswerIsNo;
}

}  // namespace

VerbBody verify_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model")->required();
  app.add_option("package", options->package, "a package, or `reference` for the reference itself")->required();
  add_repeated(app, "--input", options->inputs, "an input: NAME=x.npy, one or several batches");
  add_repeated(app, "--expect", options->expected, "expected output instead of the reference's: NAME=y.npy");
  app.add_option("--device", options->device, "virtual:rtx4090, cuda:0, auto")->capture_default_str();
  add_repeated(app, "--shape", options->shapes, "bind the shape of a model's input: NAME=1,3,224,224");
  CLI::Option* per_layer = app.add_flag("--per-layer", options->per_layer,
                                        "also each kernel, alone on the reference's inputs and within the network");
  app.add_option("--dump-tensors", options->dump_folder,
                 "with --per-layer: write the outputs of the steps to this folder, a new or an empty one: the "
                 "reference's of all, the package's of those that are wrong, and the sources of wrong kernels")
      ->needs(per_layer);
  app.add_option("--lsb", options->tolerance.lsb, "steps that integer outputs may differ")
      ->capture_default_str()
      ->check(count_from(0));
  app.add_option("--rtol", options->tolerance.rtol, "relative tolerance of float outputs")
      ->capture_default_str()
      ->check(number_from(0));
  app.add_option("--atol", options->tolerance.atol, "absolute tolerance of float outputs")
      ->capture_default_str()
      ->check(number_from(0));
  app.add_flag("--fast", options->fast, "a virtual device without its checks");
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return verify(*options); };
}

}  // namespace warpwright
