// KernelBench: a hand-written kernel in the place of a family's, through a real worker on the virtual device.
#pragma once

#include <string>

#include "cost_model/default_config.h"
#include "measure/worker_requests.h"
#include "src/core/file.h"
#include "tests/measure/small_workload.h"

namespace warpwright {

inline constexpr double kLong_s = 120;

/// Over the buffers of small_dense.
struct KernelBench {
  TemporaryFolder folder;
  WorkerProcess worker{WARPWRIGHT_PLAIN_WORKER, folder.path() / "log"};
  bool has_scratch = false;  // 128 bytes of `int* workspace` and 4 of `unsigned* counters` too

  Outcome run(const std::string& body, LaunchShape launch = {{1, 1, 1}, {32, 1, 1}, 0}, double compile_s = kLong_s) {
    protocol::MeasureRequest request;
    request.prepared = {small_dense(), 1, folder.path()};
    request.device = "virtual:rtx4090";
    request.config = default_config(small_dense(), target_preset("rtx4090"));
    request.source.entry = "kernel";
    const std::string scratch = has_scratch ? ", int* workspace, unsigned* counters" : "";
    request.source.source =
        "extern \"C\" __global__ void kernel(const signed char* x, signed char* y" + scratch + ") {" + body + "}";
    request.source.launch = launch;
    KernelArgument input, output;
    output.role = KernelArgument::Role::output;
    request.source.arguments = {input, output};
    if (has_scratch) {
      request.source.arguments.push_back({KernelArgument::Role::workspace, 0, "", DType::s32, 128});
      request.source.arguments.push_back({KernelArgument::Role::counters, 0, "", DType::s32, 4});
    }
    request.stem = folder.path() / "kernel";
    request.instruction_limit = 200'000;
    auto compiled = compile_in_worker(worker, {"", "sm_89", request.source, request.stem}, {compile_s, {}});
    if (const Outcome* outcome = std::get_if<Outcome>(&compiled)) return *outcome;
    request.kernel = std::get<CompiledKernel>(compiled);
    return measure_in_worker(worker, request, {kLong_s, {}}).outcome;
  }
};

}  // namespace warpwright
