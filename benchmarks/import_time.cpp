// Imports and lowers one model and says how long each took, how much processor time both took and how much memory the
// process had at its peak. Driven by import_time.py, which makes the models. Open dimensions are 1.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "src/core/error.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/import/input_shapes.h"

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  if (count != 2) {
    fmt::print(stderr, "import_time MODEL\n");
    return 2;
  }
  try {
    warpwright::ShapeBindings shapes;
    for (auto [name, shape] : warpwright::declared_input_shapes(arguments[1])) {
      std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{1});
      shapes[name] = std::move(shape);
    }
    const auto start = Clock::now();
    warpwright::Graph graph = warpwright::import_onnx(arguments[1], shapes);
    const auto imported = Clock::now();
    const warpwright::Program program = warpwright::lower(std::move(graph));
    const auto lowered = Clock::now();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    const auto processor = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    fmt::print("{} steps, import {:.3f} s, passes {:.3f} s, processor {:.3f} s, peak {} KiB\n", program.steps.size(),
               seconds(imported - start), seconds(lowered - imported),
               processor(usage.ru_utime) + processor(usage.ru_stime), usage.ru_maxrss);
    return 0;
  } catch (const warpwright::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
