// A table of typical layers: estimated time of the default, of what a tune finds, and the roofline.
//
//   layer_table DEVICE TRIALS SEED [LAYER] > TABLE.md
//
// LAYER: its place in the table, from 1; all of them without it.
//
// The search is that of `tune`, but trials are only timed, since interpreting a whole layer at batch 256 for each of
// them would take days. Where it takes less than some minutes the winner is verified against the reference; the table
// says so.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <thread>
#include <variant>

#include "benchmarks/timing_bench.h"
#include "measure/measurement.h"
#include "measure/runner.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/tuner/tuner.h"

using namespace warpwright;

namespace {

constexpr double kMostVerifiedProducts = 1.5e9;

struct Layer {
  std::string name;
  Workload workload;
};

Workload convolution(int64_t n, int64_t extent, int64_t c, int64_t k, int64_t kernel, int64_t groups) {
  Workload workload;
  workload.kind = OpKind::conv2d;
  workload.inputs = {nhwc_form(DType::s8, n, extent, extent, c)};
  workload.output = nhwc_form(DType::s8, n, extent, extent, k);
  workload.groups = groups;
  workload.epilogue.bias = true;
  const int64_t pad = kernel / 2;
  workload.window = {kernel, kernel, 1, 1, 1, 1, pad, pad, pad, pad};
  check(workload);
  return workload;
}

Workload dense(int64_t rows, int64_t inputs, int64_t outputs) {
  Workload workload;
  workload.kind = OpKind::dense;
  workload.inputs = {nhwc_form(DType::s8, rows, 1, 1, inputs)};
  workload.output = nhwc_form(DType::s8, rows, 1, 1, outputs);
  workload.epilogue.bias = true;
  check(workload);
  return workload;
}

std::vector<Layer> layers() {
  return {{"dense 4096 x 4096 x 4096", dense(4096, 4096, 4096)},
          {"3x3, 14x14, 256 to 256, batch 256", convolution(256, 14, 256, 256, 3, 1)},
          {"1x1, 14x14, 1024 to 256, batch 1", convolution(1, 14, 1024, 256, 1, 1)},
          {"depthwise 3x3, 112x112x32, batch 1", convolution(1, 112, 32, 32, 3, 32)},
          {"dense 8 x 4096 x 4096", dense(8, 4096, 4096)}};
}

/// Times on threads of this process; records nothing but the time.
class TimingRunner : public Runner {
 public:
  TimingRunner(const std::string& device, const Example& example) : device_(device), example_(example) {
    for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) benches_.emplace_back(device);
  }
  const Target& target() const override { return benches_.front().target(); }
  std::string device_name() const override { return device_; }
  Evidence evidence() const override { return Evidence::virtual_device; }
  void submit(uint64_t ticket, Trial trial) override { submitted_.emplace_back(ticket, std::move(trial)); }
  /// Times all that is submitted when the first result is asked for.
  FinishedTrial next() override {
    if (ended_.empty()) time_submitted();
    FinishedTrial finished = std::move(ended_.front());
    ended_.pop_front();
    return finished;
  }
  std::string environment() const override { return device_; }
  void begin_nothing_after(std::optional<std::chrono::steady_clock::time_point>) override {}
  void cancel() override {
    submitted_.clear();
    ended_.clear();
  }
  std::vector<TrialResult> interleave(const Workload& workload, const std::vector<Config>& configs,
                                      const IsDecided&) override {
    std::vector<TrialResult> results(configs.size());  // times of the virtual clock do not vary
    for (size_t i = 0; i < configs.size(); ++i) {
      results[i].outcome = benches_.front().time(workload, configs[i], example_, &results[i].kernel);
    }
    return results;
  }

 private:
  std::string device_;
  void time_submitted() {
    std::vector<FinishedTrial> finished(submitted_.size());
    std::atomic<size_t> next{0};
    {
      std::vector<std::jthread> threads;
      for (TimingBench& bench : benches_) {
        threads.emplace_back([&] {
          for (size_t i = next++; i < finished.size(); i = next++) {
            const Trial& trial = submitted_[i].second;
            TrialResult& result = finished[i].result;
            finished[i].ticket = submitted_[i].first;
            result.outcome = bench.time(trial.workload, trial.config, example_, &result.kernel);
          }
        });
      }
    }
    for (FinishedTrial& each : finished) ended_.push_back(std::move(each));
    submitted_.clear();
  }

  const Example& example_;
  std::vector<TimingBench> benches_;
  std::vector<std::pair<uint64_t, Trial>> submitted_;
  std::deque<FinishedTrial> ended_;
};

/// Time that the card needs for the multiply-adds alone, or to bring every byte in once and out once.
double roofline_us(const Workload& workload, const Target& target) {
  const bool tensor_cores = !workload.is_depthwise();
  const double per_clock = !tensor_cores                           ? 256
                           : target.compute_capability() >= 90     ? 4096
                           : target.compute_capability() % 10 == 0 ? 2048
                           : target.compute_capability() == 87     ? 2048
                                                                   : 1024;
  const double products_us =
      static_cast<double>(workload.multiply_adds()) / (per_clock * target.sm_count * target.sm_clock_mhz);
  int64_t bytes = workload.output.buffer_bytes() + workload.output.c * workload.reduction_size();
  for (const TensorForm& input : workload.inputs) bytes += input.buffer_bytes();
  return std::max(products_us, static_cast<double>(bytes) / (target.memory_gb_per_s * 1e3));
}

std::string verified(const std::string& device, const Workload& workload, const Config& config,
                     const Example& example) {
  if (static_cast<double>(workload.multiply_adds()) > kMostVerifiedProducts) return "no: too large";
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : example.inputs) inputs.push_back(&input);
  const Tensor expected = run_reference(workload, example.values, inputs);
  Meter meter([](std::string_view name, const DeviceOptions& options) { return open_device(name, options); }, device);
  const KernelSource source = family_of(config).emit(workload, config, target_of_device(device));
  const auto compiled = open_nvrtc()->compile(source, target_of_device(device).arch());
  const CompiledKernel& kernel = std::get<CompiledKernel>(compiled);
  const std::vector<Tensor> packed = pack_arguments(workload, config, source, example.values);
  const TrialData data{workload, example, expected, source.arguments, packed};
  const Measurement measurement = meter.measure({.data = data,
                                                 .kernel = kernel,
                                                 .launch = source.launch,
                                                 .instruction_limit = DeviceOptions().instruction_limit,
                                                 .timing = {}});
  return measurement.outcome.ok() ? "yes" : measurement.outcome.message;
}

void print_row(const Layer& layer, const std::string& device, int64_t trials, uint64_t seed) {
  const Example example = make_example(layer.workload, seed);
  TimingRunner runner(device, example);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("layer_table.{}", ::getpid());
  std::filesystem::remove(file);
  const std::unique_ptr<Database> database = open_database(file, OpenMode::read_write);
  const std::unique_ptr<CostModel> model = make_xgboost_cost_model(seed);
  const Task task{.key = key(layer.workload), .workload = layer.workload, .steps = {}, .onnx_nodes = {}};
  TuneOptions options;
  options.limits.trials = trials;
  options.limits.patience.reset();
  options.seed = seed;
  const RunInfo run = database->begin_run({"layer_table", device, seed, Json::object()}, layer.name);
  const TuneSummary summary = tune({task}, runner, *model, *database, run, options, [](const TuneSummary&) {});
  const TaskProgress& found = summary.tasks.at(0);
  database->close();
  std::filesystem::remove(file);
  const double roofline = roofline_us(layer.workload, runner.target());
  fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {} | `{}` | {} |\n", layer.name, roofline, found.default_us,
             found.best_us, found.best_us / roofline, summary.trials, warpwright::summary(found.best),
             verified(device, layer.workload, found.best, example));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    fmt::print(stderr, "usage: layer_table DEVICE TRIALS SEED [LAYER]\n");
    return 2;
  }
  try {
    fmt::print(
        "| layer | roofline us | default us | tuned us | tuned / roofline | trials | best Config | verified |\n");
    fmt::print("|---|---|---|---|---|---|---|---|\n");
    std::vector<Layer> wanted = layers();
    if (argc == 5) {
      const int64_t place = std::stoll(argv[4]);
      if (place < 1 || place > static_cast<int64_t>(wanted.size())) throw UsageError("there is no such LAYER");
      wanted = {wanted[static_cast<size_t>(place - 1)]};
    }
    for (const Layer& layer : wanted) print_row(layer, argv[1], std::stoll(argv[2]), std::stoull(argv[3]));
  } catch (const Error& error) {
    fmt::print(stderr, "layer_table: {}\n", error.what());
    return 2;
  }
  return 0;
}
