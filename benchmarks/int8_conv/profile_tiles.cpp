// Profiles our kernels with the tiles of measured CUTLASS INT8 convolutions on a virtual card, for fit_clock:
//
//   profile_tiles virtual:rtx3070 OUT.jsonl [CSV]
//
// CSV: by default data/int8_conv/cutlass_int8_conv_dev.csv of $WARPWRIGHT_SHARED or ../shared. A line of OUT.jsonl is a
// measured tile with the counts of its launch, or with the reason why it has no legal Config. Lines that OUT.jsonl has
// are not made again.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "benchmarks/int8_conv/launch_counts.h"
#include "benchmarks/int8_conv/measured_tiles.h"
#include "measure/compiler.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"
#include "src/core/outcome.h"
#include "src/device/virtual/virtual_device.h"
#include "src/reference/reference.h"

using namespace warpwright;

namespace {

class Profiling {
 public:
  Profiling(const Target& target) : target_(target), compiler_(open_nvrtc()) {}

  Json line_of(const MeasuredTile& measured) {
    const Config config = config_of_tile(measured.tile, measured.workload, target_);
    Json line = {{"layer", measured.layer()}, {"tile", measured.tile_text()}, {"time_us", measured.time_us}};
    if (const auto why = mma_gemm_family().space(measured.workload, target_).why_illegal(config)) {
      line["illegal"] = *why;  // hopeless or the same as another one: the kernel can be had all the same
    }
    const KernelSource source = mma_gemm_family().emit(measured.workload, config, target_);
    const auto compiled = compiler_->compile(source, target_.arch());
    if (const Outcome* failure = std::get_if<Outcome>(&compiled)) throw InternalError(failure->message);
    line["counts"] = to_json(profile(measured.workload, config, source, std::get<CompiledKernel>(compiled)));
    return line;
  }

 private:
  /// Constants have their sizes, other buffers hold zeros: no count depends on values.
  LaunchProfile profile(const Workload& workload, const Config& config, const KernelSource& source,
                        const CompiledKernel& kernel) const {
    const auto device = open_virtual_device(target_, {.checked = false});
    Workload one_image = workload;
    one_image.inputs[0].n = one_image.output.n = 1;
    const Values values = make_example(one_image, 1).values;
    Launch launch{device->load(kernel), source.launch, {}};
    for (const KernelArgument& argument : source.arguments) {
      int64_t bytes = argument.bytes;
      if (argument.role == KernelArgument::Role::input) bytes = workload.inputs[0].buffer_elements();
      if (argument.role == KernelArgument::Role::output) bytes = 4 * workload.output.buffer_elements();
      if (argument.role == KernelArgument::Role::constant || argument.role == KernelArgument::Role::scalar) {
        const Tensor packed = mma_gemm_family().pack(workload, config, argument.name, values);
        if (argument.role == KernelArgument::Role::scalar) {
          launch.arguments.push_back(bind_scalar(packed));
          continue;
        }
        bytes = static_cast<int64_t>(packed.bytes.size());
      }
      launch.arguments.push_back(bind_address(device->allocate(bytes, argument.name)));
    }
    return device->profile(launch);
  }

  const Target& target_;
  std::unique_ptr<Compiler> compiler_;
};

std::string measured_csv() {
  const char* shared = std::getenv("WARPWRIGHT_SHARED");
  const std::string path =
      std::string(shared != nullptr ? shared : "../shared") + "/data/int8_conv/cutlass_int8_conv_dev.csv";
  if (!std::filesystem::exists(path)) {
    throw EnvironmentError("there are no measured convolutions at " + path + "; set WARPWRIGHT_SHARED or name a CSV");
  }
  return path;
}

int run(const std::string& csv, const std::string& card, const std::string& out) {
  const Target target = target_of_device(card);
  const std::vector<MeasuredTile> tiles = read_measured_tiles(csv);
  size_t known = 0;
  {
    std::ifstream in(out);
    for (std::string line; std::getline(in, line);) ++known;
  }
  std::ofstream file(out, std::ios::app);
  std::vector<Json> lines(tiles.size());
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::atomic<size_t> next{known};
  size_t written = known;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      Profiling profiling(target);
      for (size_t i = next++; i < tiles.size(); i = next++) {
        Json line;
        try {
          line = profiling.line_of(tiles[i]);
        } catch (const Error& error) {
          line = {{"layer", tiles[i].layer()}, {"tile", tiles[i].tile_text()}, {"illegal", error.what()}};
        }
        const std::lock_guard lock(mutex);
        lines[i] = std::move(line);
        for (; written < tiles.size() && !lines[written].is_null(); ++written)
          file << lines[written].dump() << std::endl;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fmt::print("{} tiles of {} in {}\n", tiles.size() - known, tiles.size(), out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3 && argc != 4) throw UsageError("usage: profile_tiles virtual:CARD OUT.jsonl [CSV]");
    return run(argc == 4 ? argv[3] : measured_csv(), argv[1], argv[2]);
  } catch (const Error& error) {
    fmt::print(stderr, "profile_tiles: {}\n", error.what());
    return 2;
  }
}
