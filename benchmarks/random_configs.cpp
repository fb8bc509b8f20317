// Measures the default and random Configs of every conv and dense task of a model on a virtual device, without
// verifying them, and appends them to a CSV: what benchmarks/search_quality.py compares defaults and searches with.
//
//   random_configs MODEL.onnx --shape NAME=1,3,224,224 DEVICE SAMPLES SEED OUT.csv
//
// Tasks that OUT.csv already has are left out, so a run that was stopped goes on.
#include <fmt/format.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/timing_bench.h"
#include "cost_model/cost_model.h"
#include "cost_model/default_config.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/reference/reference.h"
#include "src/tasks/tasks.h"

using namespace warpwright;

namespace {

struct Arguments {
  std::string model, shape_name, device, csv;
  Shape shape;
  int samples = 0;
  uint64_t seed = 0;
};

Arguments parse(int argc, char** argv) {
  if (argc != 8 || std::string(argv[2]) != "--shape") {
    throw UsageError("usage: random_configs MODEL.onnx --shape NAME=DIMS DEVICE SAMPLES SEED OUT.csv");
  }
  Arguments arguments;
  arguments.model = argv[1];
  std::string binding = argv[3];
  arguments.shape_name = binding.substr(0, binding.find('='));
  std::istringstream extents(binding.substr(binding.find('=') + 1));
  for (std::string extent; std::getline(extents, extent, ',');) arguments.shape.push_back(std::stoll(extent));
  arguments.device = argv[4];
  arguments.samples = std::stoi(argv[5]);
  arguments.seed = std::stoull(argv[6]);
  arguments.csv = argv[7];
  return arguments;
}

/// The default first, then distinct random legal Configs of all families that take the Workload.
std::vector<Config> draw(const Workload& workload, const Target& target, int samples, uint64_t seed) {
  std::vector<Config> configs{default_config(workload, target)};
  std::set<std::string> known{key(configs[0])};
  std::vector<Space> spaces;
  std::vector<double> sizes;
  for (const KernelFamily* family : families_for(workload, target)) {
    spaces.push_back(family->space(workload, target));
    sizes.push_back(static_cast<double>(spaces.back().point_count()));
  }
  std::mt19937_64 random(seed ^ std::stoull(key_hex(key(workload)).substr(0, 15), nullptr, 16));
  for (int tries = 0; tries < 20 * samples && static_cast<int>(configs.size()) <= samples; ++tries) {
    const Space& space = spaces[random() % spaces.size()];
    std::optional<Config> config = space.sample(random);
    if (config && known.insert(key(*config)).second) configs.push_back(*config);
  }
  return configs;
}

std::set<std::string> tasks_in(const std::string& csv) {
  std::set<std::string> tasks;
  std::ifstream file(csv);
  for (std::string line; std::getline(file, line);) tasks.insert(line.substr(0, line.find(',')));
  return tasks;
}

void measure_task(const Arguments& arguments, const Task& task, const Target& target) {
  const std::vector<Config> configs = draw(task.workload, target, arguments.samples, arguments.seed);
  const Example example = make_example(task.workload, arguments.seed);
  std::vector<Outcome> outcomes(configs.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      TimingBench bench(arguments.device);
      for (size_t i = next++; i < configs.size(); i = next++) {
        outcomes[i] = bench.time(task.workload, configs[i], example);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ofstream csv(arguments.csv, std::ios::app);
  for (size_t i = 0; i < configs.size(); ++i) {
    csv << fmt::format("{},{},{},{},{},\"{}\",{:.4f}\n", task.key, task.weight, i == 0 ? "default" : "random",
                       outcomes[i].ok() ? fmt::format("{:.4f}", outcomes[i].median_us()) : "", name(outcomes[i].kind),
                       summary(configs[i]), analytic_us(task.workload, configs[i], target));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    const Target target = target_of_device(arguments.device);
    const Program program = lower(import_onnx(arguments.model, {{arguments.shape_name, arguments.shape}}));
    const std::set<std::string> done = tasks_in(arguments.csv);
    for (const Task& task : extract_tasks(program)) {
      if (!task.workload.is_matrix_product() || done.contains(task.key)) continue;
      measure_task(arguments, task, target);
      fmt::print("{} {}\n", task.key, task.workload.summary());
      std::fflush(stdout);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "random_configs: {}\n", error.what());
    return 2;
  }
  return 0;
}
