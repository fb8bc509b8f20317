// How fast the spaces are: for each task of a model and each family that takes it, the processor time of the first
// 1,000 samples (the space itself included) and how many points are drawn for each.
//
//   space_sampling MODEL.onnx --shape NAME=1,3,224,224 TARGET
#include <fmt/format.h>

#include <ctime>
#include <sstream>

#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/tasks/tasks.h"

using namespace warpwright;

namespace {

constexpr int kSamples = 1000;
constexpr int kTries = 1'000'000;
constexpr int kPointsTried = 20'000;

ShapeBindings shape_of(const std::string& binding) {
  Shape shape;
  std::istringstream extents(binding.substr(binding.find('=') + 1));
  for (std::string extent; std::getline(extents, extent, ',');) shape.push_back(std::stoll(extent));
  return {{binding.substr(0, binding.find('=')), shape}};
}

void print_line(const Workload& workload, const KernelFamily& family, const Target& target) {
  std::mt19937_64 random(1);
  const std::clock_t start = std::clock();
  const Space space = family.space(workload, target);
  int found = 0;
  for (int sample = 0; sample < kSamples; ++sample) found += space.sample(random, kTries).has_value();
  const double spent_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  int legal = 0;
  for (int tried = 0; tried < kPointsTried; ++tried) legal += space.sample(random, 1).has_value();
  fmt::print("{:<12} {:>12} {:>8.1f} {:>8.1f}  {}\n", family.name(), space.point_count(),
             static_cast<double>(kPointsTried) / std::max(1, legal), spent_ms, workload.summary());
  if (found < kSamples) fmt::print("  only {} samples\n", found);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::string(argv[2]) != "--shape") {
    fmt::print(stderr, "usage: space_sampling MODEL.onnx --shape NAME=DIMS TARGET\n");
    return 2;
  }
  try {
    const Target& target = target_preset(argv[4]);
    fmt::print("{:<12} {:>12} {:>8} {:>8}  workload\n", "family", "points", "tries", "ms");
    for (const Task& task : extract_tasks(lower(import_onnx(argv[1], shape_of(argv[3]))))) {
      for (const KernelFamily* family : families_for(task.workload, target)) {
        print_line(task.workload, *family, target);
      }
    }
  } catch (const Error& error) {
    fmt::print(stderr, "space_sampling: {}\n", error.what());
    return 2;
  }
  return 0;
}
