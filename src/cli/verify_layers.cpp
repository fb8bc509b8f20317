// Steps beside the reference: compared, told, written to files.
#include "src/cli/verify_layers.h"

#include <fmt/format.h>

#include "src/cli/table.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/printable.h"
#include "src/graph/executor.h"

namespace warpwright {
namespace {

Tensor shaped(Tensor buffer, const TensorForm& form) {
  buffer.shape = form.layout == Layout::nhwc ? Shape{form.n, form.h, form.w, form.pixel_stride}
                                             : Shape{form.n, form.c, form.h, form.w};
  if (element_count(buffer.shape) != static_cast<int64_t>(buffer.bytes.size() / size_bytes(buffer.dtype))) {
    throw InternalError("the buffer of a step does not have the size of its form");
  }
  return buffer;
}

const TensorForm& form_of(const Program& program, size_t step) { return output_of(program, step).form; }

Tensor expected_of(const Program& program, const ReferenceRun& reference, size_t step, size_t batch) {
  return shaped(reference.buffers.at(batch).at(step), form_of(program, step));
}

/// Nothing where the output is the reference's.
std::optional<WrongStep> compare_step(const Program& program, const ReferenceRun& reference, size_t step, size_t batch,
                                      const Tensor& buffer, const Tolerance& tolerance) {
  WrongStep wrong{batch, shaped(buffer, form_of(program, step)), {}};
  wrong.difference =
      compare(fmt::format("step {}", step), wrong.got, expected_of(program, reference, step, batch), tolerance);
  if (wrong.difference.wrong == 0) return std::nullopt;
  return wrong;
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

const PackageKernel& kernel_of(const Package& package, size_t step) {
  return package.kernels.at(package.steps.at(step).kernel);
}

/// The record behind the step's Config, as the manifest has it; empty where there is none.
std::string record_of(const Package& package, size_t step) {
  const Json& manifest = package.manifest;
  if (!manifest.is_object() || !manifest.contains("kernels") || !manifest["kernels"].is_array()) return {};
  const Json workload_key = key(package.program.steps.at(step).workload);
  const Json config = to_json(package.steps[step].config);
  for (const Json& kernel : manifest["kernels"]) {
    if (!kernel.is_object() || kernel.value("workload_key", Json()) != workload_key) continue;
    const Json record = kernel.value("record", Json());
    if (kernel.value("config", Json()) == config && record.is_string()) return record.get<std::string>();
  }
  return {};
}

/// `got 3, expected 5 at [0,1,2,7] of [1,8,8,16] in batch 0; 3 of 1024 wrong`.
std::string difference_text(const WrongStep& wrong) {
  const Difference& difference = wrong.difference;
  return fmt::format("got {}, expected {} at {} of [{}] in batch {}; {} of {} wrong", difference.got,
                     difference.expected, index_text(wrong.got.shape, difference.first_wrong),
                     fmt::join(wrong.got.shape, ","), wrong.batch, difference.wrong, difference.elements);
}

std::string step_text(const Program& program, size_t step) {
  const ProgramStep& layer = program.steps[step];
  const std::string nodes = layer.onnx_nodes.empty() ? "none of its own, tensor " + output_of(program, step).name
                                                     : fmt::format("{}", fmt::join(layer.onnx_nodes, ", "));
  return printable(fmt::format("step {} ({}), ONNX nodes {}", step, layer.workload.summary(), nodes));
}

void print_kernel(const Package& package, size_t step) {
  const PackageStep& planned = package.steps[step];
  const std::string record = record_of(package, step);
  fmt::print("  config {}\n", printable(summary(planned.config)));
  fmt::print("  record {}\n", record.empty() ? "none" : printable(record + " (`db show DB RECORD`)"));
  fmt::print("  source sha256 {}\n", sha256_hex(kernel_of(package, step).source));
}

Json json_of(const Program& program, const Package& package, size_t step, const WrongStep& wrong) {
  Json json = to_json(wrong.difference, wrong.got.shape);
  json.update({{"step", step},
               {"batch", wrong.batch},
               {"shape", wrong.got.shape},
               {"workload", program.steps[step].workload.summary()},
               {"onnx_nodes", program.steps[step].onnx_nodes},
               {"config", to_json(package.steps[step].config)},
               {"record", record_of(package, step)},
               {"source_sha256", sha256_hex(kernel_of(package, step).source)}});
  return json;
}

}  // namespace

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

void check_same_network(const Program& model, const Program& package) {
  bool same = model.steps.size() == package.steps.size();
  for (size_t i = 0; same && i < model.steps.size(); ++i) {
    same = key(model.steps[i].workload) == key(package.steps[i].workload) &&
           model.steps[i].inputs == package.steps[i].inputs;
  }
  if (!same) throw UsageError("--per-layer: the package has other steps than the model; build it from this model");
}

void ChainedComparison::observe(size_t step, const Tensor& buffer) {
  if (auto wrong = compare_step(program_, reference_, step, batch_, buffer, tolerance_)) {
    report_.chained.insert(step);
    if (!report_.first_chained_step) {
      report_.first_chained_step = step;
      report_.first_chained = std::move(*wrong);
    }
  }
  if (step + 1 == program_.steps.size()) ++batch_;
}

void compare_alone(const Program& program, Session& session, const ReferenceRun& reference, const TensorMap& inputs,
                   const Tolerance& tolerance, LayerReport& report) {
  for (size_t batch = 0; batch < reference.buffers.size(); ++batch) {
    const TensorMap cut = batch_of(program, inputs, static_cast<int64_t>(batch));
    for (size_t step = 0; step < program.steps.size(); ++step) {
      if (report.alone.contains(step)) continue;
      const Tensor got = session.run_step(step, inputs_of(program, step, reference.buffers[batch], cut));
      auto wrong = compare_step(program, reference, step, batch, got, tolerance);
      if (wrong) report.alone.emplace(step, std::move(*wrong));
    }
  }
}

void print_layers(const Program& program, const Package& package, const LayerReport& report) {
  if (!report.alone.empty()) {
    Table table({">step", "workload", "ONNX nodes", ">wrong", "first wrong", "got", "expected", "config"});
    for (const auto& [step, wrong] : report.alone) {
      const Difference& difference = wrong.difference;
      table.add({std::to_string(step), program.steps[step].workload.summary(),
                 short_list(program.steps[step].onnx_nodes), std::to_string(difference.wrong),
                 index_text(wrong.got.shape, difference.first_wrong), difference.got, difference.expected,
                 summary(package.steps[step].config)});
    }
    table.print();
    const auto& [step, wrong] = *report.alone.begin();
    fmt::print("first wrong kernel: {}\n  {}\n", step_text(program, step), difference_text(wrong));
    print_kernel(package, step);
  }
  const size_t steps = program.steps.size();
  fmt::print("{} of {} kernels right on the reference's inputs\n", steps - report.alone.size(), steps);
  fmt::print("{} of {} steps right in the network\n", steps - report.chained.size(), steps);
  if (!report.first_chained_step || report.alone.contains(*report.first_chained_step)) return;
  fmt::print("first wrong step in the network: {}\n  {}\n", step_text(program, *report.first_chained_step),
             difference_text(report.first_chained));
  fmt::print("  its kernel is right alone: what it reads was overwritten, or a launch before it left something\n");
}

void add_layers(Json& document, const Program& program, const Package& package, const LayerReport& report) {
  document["layers"] = Json::array();
  for (const auto& [step, wrong] : report.alone) {
    document["layers"].push_back(json_of(program, package, step, wrong));
  }
  if (!report.alone.empty()) document["first_wrong_kernel"] = document["layers"][0];
  document["chained"] = {{"wrong_steps", report.chained}};
  if (report.first_chained_step) {
    document["chained"]["first"] = json_of(program, package, *report.first_chained_step, report.first_chained);
  }
}

void dump_layers(TensorDump& dump, const Program& program, const Package& package, const ReferenceRun& reference,
                 const LayerReport& report) {
  size_t main_batch = 0;
  if (!report.alone.empty()) {
    main_batch = report.alone.begin()->second.batch;
  } else if (report.first_chained_step) {
    main_batch = report.first_chained.batch;
  }
  const auto write_expected = [&](size_t step, size_t batch) {
    dump.write(program, step, batch, "expected", expected_of(program, reference, step, batch));
  };
  for (size_t step = 0; step < program.steps.size(); ++step) {
    write_expected(step, main_batch);
    const auto wrong = report.alone.find(step);
    if (wrong == report.alone.end()) continue;
    write_expected(step, wrong->second.batch);
    dump.write(program, step, wrong->second.batch, "alone", wrong->second.got);
    dump.write_source(program, step, kernel_of(package, step).source);
  }
  if (!report.first_chained_step) return;
  write_expected(*report.first_chained_step, report.first_chained.batch);
  dump.write(program, *report.first_chained_step, report.first_chained.batch, "chained", report.first_chained.got);
}

}  // namespace warpwright
