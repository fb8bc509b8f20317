// compile_all: kernels over worker processes, as many at a time as there are jobs.
#include "measure/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "measure/worker_requests.h"
#include "src/core/core_count.h"
#include "src/core/file.h"

namespace warpwright {

std::vector<std::variant<CompiledKernel, Outcome>> compile_all(const std::vector<BuildJob>& jobs,
                                                               const BuilderOptions& options) {
  std::vector<std::variant<CompiledKernel, Outcome>> results(jobs.size());
  const TemporaryFolder folder("warpwright-build");
  const std::string program = options.worker_program.empty() ? this_program() : options.worker_program;
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const StopCheck stop = [&options] { return options.stop != nullptr && *options.stop; };

  const auto compile_some = [&](size_t lane) {
    try {
      WorkerProcess worker(program, folder.path() / fmt::format("worker-{}.log", lane));
      for (size_t i = next++; i < jobs.size() && !failed; i = next++) {
        const std::filesystem::path stem = folder.path() / fmt::format("kernel-{}", i);
        results[i] = compile_in_worker(worker, {options.nvrtc_path, jobs[i].arch, jobs[i].source, stem},
                                       {options.compile_timeout_s, stop});
        protocol::remove_binaries(stem);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = true;
      if (!failure) failure = std::current_exception();
    }
  };
  const auto cores = static_cast<size_t>(core_count());
  const size_t lanes = std::min(options.jobs > 0 ? static_cast<size_t>(options.jobs) : cores, jobs.size());
  {
    std::vector<std::jthread> threads;
    for (size_t lane = 0; lane < lanes; ++lane) threads.emplace_back(compile_some, lane);
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace warpwright
