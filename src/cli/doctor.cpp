// warpwright doctor: what tune looks at before a night, on its own.
#include <fmt/core.h>

#include <memory>

#include "src/cli/arguments.h"
#include "src/cli/checks.h"
#include "src/cli/model.h"
#include "src/cli/signals.h"
#include "src/cli/tune_plan.h"
#include "src/cli/verb.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, device = "auto", nvrtc, database;
  std::vector<std::string> shapes;
  bool json = false;
};

int look(const Options& options, StopSignals& signals) {
  RunnerOptions opening;
  opening.nvrtc_path = options.nvrtc;
  opening.stop = signals.flag();
  CheckOptions checking;
  checking.devices = device_names(options.device, opening);
  checking.nvrtc_path = options.nvrtc;
  checking.database = options.database;
  checking.stop = signals.flag();
  if (!options.model.empty()) {
    const Model model = read_model(options.model, parse_shapes(options.shapes));
    checking.task_bytes = largest_task_bytes(extract_tasks(model.program));
  }
  const std::vector<CheckList> lists = check_all(checking);
  if (options.json) {
    Json document = checks_json(lists);
    document["schema"] = "warpwright.doctor/1";
    fmt::print("{}\n", json_document(document));
  } else {
    for (const std::string& line : check_lines(lists)) fmt::print("{}\n", line);
  }
  return has_failed(lists) ? kEnvironmentLacks : kDone;
}

int doctor(const Options& options) {
  StopSignals signals;
  try {
    return look(options, signals);
  } catch (const Interrupted&) {
    return signals.exit_status();
  }
}

}  // namespace

VerbBody doctor_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "an ONNX model: is there memory for its largest task?");
  app.add_option("--device", options->device, "virtual:rtx4090, cuda:0, cuda:0,cuda:1, cuda:all, auto")
      ->capture_default_str();
  app.add_option("--db", options->database, "a database: can it be written, is there room?");
  app.add_option("--nvrtc", options->nvrtc, "path of libnvrtc");
  add_repeated(app, "--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224");
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return doctor(*options); };
}

}  // namespace warpwright
