// warpwright bench: the time of a package, whole and by kernel, or of two packages side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "src/cli/arguments.h"
#include "src/cli/model.h"
#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/core/error.h"
#include "src/core/half.h"
#include "src/core/json_text.h"
#include "src/core/verdict.h"
#include "src/device/device.h"
#include "src/runtime/session.h"

namespace warpwright {
namespace {

/// Two packages take turns this often, so that a drift of the clocks meets both. Estimates of a virtual device repeat.
constexpr int kRounds = 10;

struct Options {
  std::string package, other, device = "auto";
  bool warm_l2 = false, json = false;
};

/// Any values do for a time; fixed ones, so that two runs see the same.
TensorMap random_inputs(const Program& program) {
  TensorMap inputs;
  std::mt19937 random(1);
  for (const ProgramPort& port : program.inputs) {
    Tensor tensor(port.dtype, port.shape);
    if (port.dtype == DType::f32) {
      for (float& value : tensor.as<float>()) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    } else if (port.dtype == DType::f16) {
      for (uint16_t& value : tensor.as<uint16_t>()) {
        value = to_half(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
      }
    } else if (port.dtype == DType::s64) {  // most often indices
      for (int64_t& value : tensor.as<int64_t>()) value = static_cast<int64_t>(random() % 100);
    } else if (port.dtype == DType::boolean) {
      for (uint8_t& value : tensor.as<uint8_t>()) value = static_cast<uint8_t>(random() % 2);
    } else {
      for (std::byte& value : tensor.bytes) value = static_cast<std::byte>(random() & 255);
    }
    inputs.emplace(port.name, std::move(tensor));
  }
  return inputs;
}

std::vector<double> samples_of(const Outcome& outcome, const std::string& what) {
  if (outcome.ok() && !outcome.samples_us.empty()) return outcome.samples_us;
  const std::string text = fmt::format("{}: {}: {}", what, name(outcome.kind), outcome.message);
  if (is_transient(outcome.kind)) throw EnvironmentError(text);
  throw LaunchFault(text);
}

double percentile(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(std::llround(share * static_cast<double>(samples.size() - 1)))];
}

struct Loaded {
  Loaded(const std::string& path, Device& device)
      : package(load_package(path, device.target(), {})), session(package, device) {
    session.run(random_inputs(package.program));
  }

  Package package;
  Session session;
};

/// Of runs one after the other, each of one batch.
double runs_per_second(const std::vector<double>& samples) { return 1e6 / median(samples); }

Json summary_json(const std::vector<double>& samples) {
  return {{"median_us", median(samples)},
          {"p90_us", percentile(samples, 0.9)},
          {"p99_us", percentile(samples, 0.99)},
          {"runs_per_second", runs_per_second(samples)},
          {"samples", samples.size()}};
}

/// Rows of kernels; gives the sum of their medians.
double add_kernels(Loaded& loaded, const TimingOptions& timing, double total, Table& table, Json& kernels) {
  double sum = 0;
  const Program& program = loaded.package.program;
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const Outcome outcome = loaded.session.time_step(step, timing);
    const double us = median(samples_of(outcome, fmt::format("step {}", step)));
    sum += us;
    const PackageStep& planned = loaded.package.steps[step];
    const std::string evidence = planned.evidence ? std::string(name(*planned.evidence)) : "-";
    table.add({std::to_string(step), program.steps[step].workload.summary(), planned.rung, evidence,
               fmt::format("{:.2f}", us), fmt::format("{:.1f} %", 100 * us / total), outcome.limited_by,
               short_list(program.steps[step].onnx_nodes), summary(planned.config)});
    kernels.push_back({{"step", step},
                       {"workload", program.steps[step].workload.summary()},
                       {"config", to_json(planned.config)},
                       {"rung", planned.rung},
                       {"evidence", evidence},
                       {"us", us},
                       {"limited_by", outcome.limited_by},
                       {"onnx_nodes", program.steps[step].onnx_nodes}});
  }
  return sum;
}

int bench_one(const Options& options, Device& device, const TimingOptions& timing) {
  Loaded loaded(options.package, device);
  const std::vector<double> samples = samples_of(loaded.session.time(timing), "the whole package");
  const double total = median(samples);
  const bool estimate = device.evidence() == Evidence::virtual_device;
  Table table({">step", "workload", "rung", "evidence", estimate ? ">est. us" : ">us", ">share", "limited by",
               "ONNX nodes", "config"});
  Json kernels = Json::array();
  const double sum = add_kernels(loaded, timing, total, table, kernels);
  if (options.json) {
    Json document{{"schema", "warpwright.bench/1"}, {"device", device.description()}, {"kernels", kernels}};
    document["estimate"] = estimate;
    document["total"] = summary_json(samples);
    document["sum_of_kernels_us"] = sum;
    document["between_kernels_us"] = total - sum;
    fmt::print("{}\n", json_document(document));
    return kDone;
  }
  table.print();
  fmt::print(
      "kernels {:.2f} us + between kernels {:.2f} us = total {:.2f} us (median of {}; p90 {:.2f}, p99 {:.2f}), "
      "{:.1f} runs/s{}\n",
      sum, total - sum, total, samples.size(), percentile(samples, 0.9), percentile(samples, 0.99),
      runs_per_second(samples), estimate ? "; times are estimates of the virtual device" : "");
  return kDone;
}

/// Times of two packages that took turns, another one first in each round.
struct Turns {
  std::vector<double> first_us, second_us;              // all samples
  std::vector<double> first_by_round, second_by_round;  // their medians
};

Turns take_turns(const Options& options, Device& device, const TimingOptions& timing, int rounds) {
  Loaded first(options.package, device), second(options.other, device);
  Turns turns;
  const auto take = [&](Loaded& loaded, const std::string& path, std::vector<double>& all,
                        std::vector<double>& by_round) {
    const std::vector<double> samples = samples_of(loaded.session.time(timing), path);
    all.insert(all.end(), samples.begin(), samples.end());
    by_round.push_back(median(samples));
  };
  for (int round = 0; round < rounds; ++round) {
    const bool second_begins = round % 2 == 1;
    if (second_begins) take(second, options.other, turns.second_us, turns.second_by_round);
    take(first, options.package, turns.first_us, turns.first_by_round);
    if (!second_begins) take(second, options.other, turns.second_us, turns.second_by_round);
  }
  return turns;
}

int bench_two(const Options& options, Device& device, const TimingOptions& timing) {
  const bool estimate = device.evidence() == Evidence::virtual_device;
  const Turns turns = take_turns(options, device, timing, estimate ? 1 : kRounds);
  const PairedGain ratio = paired_gain(turns.first_by_round, turns.second_by_round);
  if (options.json) {
    Json document{{"schema", "warpwright.bench/1"},
                  {"device", device.description()},
                  {"estimate", estimate},
                  {"packages",
                   {{{"path", options.package}, {"total", summary_json(turns.first_us)}},
                    {{"path", options.other}, {"total", summary_json(turns.second_us)}}}},
                  {"ratio", ratio.gain}};
    if (!estimate) document["ratio_interval"] = {ratio.low, ratio.high};
    fmt::print("{}\n", json_document(document));
    return kDone;
  }
  Table table({"package", estimate ? ">est. us" : ">us", ">p90", ">p99", ">runs/s"});
  for (const auto& [path, samples] :
       {std::pair(options.package, turns.first_us), std::pair(options.other, turns.second_us)}) {
    table.add({path, us_text(median(samples)), us_text(percentile(samples, 0.9)), us_text(percentile(samples, 0.99)),
               fmt::format("{:.1f}", runs_per_second(samples))});
  }
  table.print();
  if (estimate) {
    fmt::print("first / second = {:.3f}; times are estimates of the virtual device, which repeat\n", ratio.gain);
  } else {
    fmt::print("first / second = {:.3f}, 95 % interval {:.3f} to {:.3f}, {} turns each{}\n", ratio.gain, ratio.low,
               ratio.high, ratio.rounds, ratio.low <= 1 && ratio.high >= 1 ? ": no difference shown" : "");
  }
  return kDone;
}

int bench(const Options& options) {
  for (const std::string& path : {options.package, options.other}) {
    if (!path.empty()) PackageFile{path};  // a bad file is told before a device is opened
  }
  const auto device = open_device(options.device, DeviceOptions{.checked = false});
  TimingOptions timing;
  timing.cold_l2 = !options.warm_l2;
  return options.other.empty() ? bench_one(options, *device, timing) : bench_two(options, *device, timing);
}

}  // namespace

VerbBody bench_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("package", options->package, "the package")->required();
  app.add_option("other", options->other, "a second package: both take turns");
  app.add_option("--device", options->device, "virtual:rtx4090, cuda:0, auto")->capture_default_str();
  app.add_flag("--warm-l2", options->warm_l2, "leave the L2 cache as the launch before left it");
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return bench(*options); };
}

}  // namespace warpwright
