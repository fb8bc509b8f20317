// warpwright verify: a package against the reference or against expected outputs, whole and kernel by kernel.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "src/cli/arguments.h"
#include "src/cli/comparison.h"
#include "src/cli/model.h"
#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/device/device.h"
#include "src/graph/executor.h"
#include "src/runtime/session.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, package, device = "auto";
  std::vector<std::string> inputs, expected, shapes;
  Tolerance tolerance;
  bool per_layer = false, fast = false, json = false;
};

/// What the reference gives, and the buffers between the steps of each batch when they are asked for.
struct ReferenceRun {
  TensorMap outputs;
  std::vector<std::vector<Tensor>> buffers;  // by batch and step
};

ReferenceRun run_reference_on(const Program& program, const TensorMap& inputs, bool keep_buffers) {
  ReferenceRun run;
  const int64_t batches = count_batches(program, inputs);
  for (int64_t i = 0; i < batches; ++i) {
    std::vector<Tensor> buffers;
    const auto observe = [&](size_t, const Tensor& buffer) {
      if (keep_buffers) buffers.push_back(buffer);
    };
    append_batch(run.outputs, run_on_reference(program, batch_of(program, inputs, i), observe));
    run.buffers.push_back(std::move(buffers));
  }
  return run;
}

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

void check_same_network(const Program& model, const Program& package) {
  bool same = model.steps.size() == package.steps.size();
  for (size_t i = 0; same && i < model.steps.size(); ++i) {
    same = key(model.steps[i].workload) == key(package.steps[i].workload) &&
           model.steps[i].inputs == package.steps[i].inputs;
  }
  if (!same) throw UsageError("--per-layer: the package has other steps than the model; build it from this model");
}

/// The tensors that a step reads, as the reference made them.
std::vector<const Tensor*> inputs_of(const Program& program, size_t step, const std::vector<Tensor>& buffers,
                                     const TensorMap& batch) {
  std::vector<const Tensor*> inputs;
  for (int index : program.steps[step].inputs) {
    const Tensor* found = nullptr;
    for (const ProgramPort& port : program.inputs) {
      if (port.tensor == index) found = &batch.at(port.name);
    }
    for (size_t earlier = 0; earlier < step; ++earlier) {
      if (program.steps[earlier].output == index) found = &buffers[earlier];
    }
    if (!found) throw InternalError(fmt::format("step {} reads a tensor that nothing wrote", step));
    inputs.push_back(found);
  }
  return inputs;
}

/// Each kernel on the reference's inputs; true when all give the reference's output.
bool report_layers(const Program& program, const Package& package, Session& session, const ReferenceRun& reference,
                   const TensorMap& inputs, const Options& options, Json& document) {
  Table table({">step", "workload", "ONNX nodes", ">wrong", "first wrong", "got", "expected", "config"});
  std::string first;
  size_t wrong_steps = 0;
  document["layers"] = Json::array();
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const ProgramStep& layer = program.steps[step];
    for (size_t batch = 0; batch < reference.buffers.size(); ++batch) {
      const TensorMap cut = batch_of(program, inputs, static_cast<int64_t>(batch));
      const auto layer_inputs = inputs_of(program, step, reference.buffers[batch], cut);
      const Tensor got = session.run_step(step, layer_inputs);
      Tensor expected = reference.buffers[batch][step];
      expected.shape = got.shape;
      const Difference difference = compare(fmt::format("step {}", step), got, expected, options.tolerance);
      if (difference.wrong == 0) continue;
      ++wrong_steps;
      if (first.empty()) {
        first =
            fmt::format("first wrong kernel: step {} ({}), ONNX nodes {}, config {}", step, layer.workload.summary(),
                        fmt::join(layer.onnx_nodes, ", "), summary(package.steps[step].config));
      }
      table.add({std::to_string(step), layer.workload.summary(), short_list(layer.onnx_nodes),
                 std::to_string(difference.wrong), index_text(got.shape, difference.first_wrong), difference.got,
                 difference.expected, summary(package.steps[step].config)});
      Json row = to_json(difference, got.shape);
      row.update({{"step", step}, {"batch", batch}, {"onnx_nodes", layer.onnx_nodes}});
      document["layers"].push_back(row);
      break;
    }
  }
  if (options.json) return wrong_steps == 0;
  if (wrong_steps > 0) {
    table.print();
    fmt::print("{}\n", first);
  }
  fmt::print("{} of {} kernels right on the reference's inputs\n", program.steps.size() - wrong_steps,
             program.steps.size());
  return wrong_steps == 0;
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
  bool right = report_outputs(session.run(inputs), expected, options, document);
  if (options.per_layer) {
    right = report_layers(model->program, package, session, reference, inputs, options, document) && right;
  }
  return right;
}

int verify(const Options& options) {
  const auto sane = [](double tolerance) { return std::isfinite(tolerance) && tolerance >= 0; };
  if (options.tolerance.lsb < 0 || !sane(options.tolerance.rtol) || !sane(options.tolerance.atol)) {
    throw UsageError("a tolerance is a finite number from 0 up");
  }
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
  app.add_option("--input", options->inputs, "an input: NAME=x.npy, one or several batches")->allow_extra_args(false);
  app.add_option("--expect", options->expected, "expected output instead of the reference's: NAME=y.npy")
      ->allow_extra_args(false);
  app.add_option("--device", options->device, "virtual:rtx4090, cuda:0, auto")->capture_default_str();
  app.add_option("--shape", options->shapes, "bind the shape of a model's input: NAME=1,3,224,224")
      ->allow_extra_args(false);
  app.add_flag("--per-layer", options->per_layer, "also each kernel alone, on the reference's inputs");
  app.add_option("--lsb", options->tolerance.lsb, "steps that integer outputs may differ")->capture_default_str();
  app.add_option("--rtol", options->tolerance.rtol, "relative tolerance of float outputs")->capture_default_str();
  app.add_option("--atol", options->tolerance.atol, "absolute tolerance of float outputs")->capture_default_str();
  app.add_flag("--fast", options->fast, "a virtual device without its checks");
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return verify(*options); };
}

}  // namespace warpwright
