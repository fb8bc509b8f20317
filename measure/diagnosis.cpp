// The checks of a device, from the driver to a kernel's output.
#include "measure/diagnosis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "measure/worker_process.h"
#include "measure/worker_protocol.h"
#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

using State = Check::State;

constexpr double kTimeout_s = 120;
constexpr int kThreads = 32, kBlocks = 512;
constexpr int kHot_c = 83;
constexpr const char* kEntry = "warpwright_check";
constexpr const char* kSource = R"(
extern "C" __global__ void warpwright_check(int* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = __dp4a(values[i], 0x01020304, i);
}
)";

/// What the kernel makes of element i.
int32_t right_value(int32_t value, int32_t i) {
  int32_t sum = i;
  for (int byte = 0; byte < 4; ++byte) sum += static_cast<int8_t>(value >> 8 * byte) * (4 - byte);
  return sum;
}

std::string megabytes(int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

class Diagnosis {
 public:
  Diagnosis(const WorkerParts& parts, const DiagnosisRequest& request) : parts_(parts), request_(request) {}

  std::vector<Check> run() {
    check_driver();
    check_compiler();
    check_kernel();
    check_memory();
    check_clocks();
    check_processes();
    return std::move(checks_);
  }

 private:
  /// `make` gives the check; what it throws is its failure.
  template <typename Make>
  bool add(const char* name, bool is_possible, Make make) {
    Check check{name, State::skipped, "needs what failed above", ""};
    try {
      if (is_possible) make(check);
    } catch (const std::bad_alloc&) {
      check = {name, State::failed, "the host has no memory left", "end other programs"};
    } catch (const std::exception& error) {
      check = {name, State::failed, error.what(), ""};
    }
    checks_.push_back(std::move(check));
    return checks_.back().state == State::ok || checks_.back().state == State::warning;
  }

  void check_driver();
  void check_compiler();
  void check_kernel();
  void check_memory();
  void check_clocks();
  void check_processes();

  const WorkerParts& parts_;
  const DiagnosisRequest& request_;
  std::vector<Check> checks_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Compiler> compiler_;
  CompiledKernel kernel_;
  bool has_kernel_ = false;
};

void Diagnosis::check_driver() {
  add("driver", true, [&](Check& check) {
    device_ = parts_.open_device(request_.device, DeviceOptions{});
    const bool is_card = device_->evidence() == Evidence::silicon;
    const Target& target = device_->target();
    const std::string what = is_card ? device_->description() : target.device_name + " in software";
    check = {"driver", State::ok, fmt::format("{}, {}", what, target.arch()), ""};
  });
}

void Diagnosis::check_compiler() {
  add("compiler", true, [&](Check& check) {
    compiler_ = parts_.open_compiler(request_.nvrtc_path);
    check = {"compiler", State::ok, compiler_->version(), ""};
    if (device_ == nullptr) return;
    require_compiler_fits(*compiler_, *device_);
    const std::string arch = device_->target().arch();
    KernelSource source;
    source.entry = kEntry;
    source.source = kSource;
    auto result = compiler_->compile(source, arch);
    if (const Outcome* outcome = std::get_if<Outcome>(&result)) {
      check = {"compiler", State::failed, fmt::format("{}: {}", compiler_->version(), outcome->message),
               "install NVRTC anew, or name another one with --nvrtc PATH"};
      return;
    }
    kernel_ = std::get<CompiledKernel>(std::move(result));
    has_kernel_ = true;
    check.finding += " knows " + arch;
  });
}

void Diagnosis::check_kernel() {
  add("kernel", device_ != nullptr && has_kernel_, [&](Check& check) {
    check = {"kernel", State::failed, "",
             "the card or its driver is out of order: restart the machine, then look at "
             "`nvidia-smi -q -d ECC` and `dmesg`"};
    std::vector<int32_t> values(kThreads * kBlocks);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 2654435761U);
    const std::vector<int32_t> given = values;
    const auto bytes = std::as_writable_bytes(std::span(values));
    const DeviceAddress address = device_->allocate(static_cast<int64_t>(bytes.size()), "values of a check");
    device_->upload(address, bytes);
    Launch launch;
    launch.kernel = device_->load(kernel_);
    launch.shape = {{kBlocks, 1, 1}, {kThreads, 1, 1}, 0};
    launch.arguments = {bind_address(address)};
    const Outcome outcome = device_->launch(launch);
    if (!outcome.ok()) {
      check.finding = fmt::format("{}: {}", name(outcome.kind), outcome.message);
      return;
    }
    device_->download(bytes, address);
    device_->free(address);
    int64_t wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) wrong += values[i] != right_value(given[i], static_cast<int32_t>(i));
    if (wrong > 0) {
      check.finding = fmt::format("{} of {} results are wrong", wrong, values.size());
      return;
    }
    check = {"kernel", State::ok, fmt::format("compiled, launched, {} results right", values.size()), ""};
  });
}

void Diagnosis::check_memory() {
  add("memory", device_ != nullptr && checks_.back().state == State::ok, [&](Check& check) {
    const bool is_card = device_->evidence() == Evidence::silicon;
    const int64_t flush = is_card ? 2 * device_->target().l2_bytes : 0;  // beside a task, where it is timed
    const auto state = is_card && parts_.card_state ? parts_.card_state(request_.device) : std::nullopt;
    std::string found = request_.task_bytes > 0 ? "the largest task needs " + megabytes(request_.task_bytes + flush)
                                                : "a small one was to be had";
    if (state && state->memory_bytes > 0) {
      found += fmt::format("; {} of {} are free", megabytes(state->free_bytes), megabytes(state->memory_bytes));
    }
    try {
      device_->free(device_->allocate(request_.task_bytes + flush, "memory of a check"));
      check = {"memory", State::ok, found, ""};
    } catch (const OutOfDeviceMemory& error) {
      check = {"memory", State::failed, fmt::format("{}: {}", found, error.what()),
               "end other processes on the card, or leave large tasks out with --task and --op"};
    }
  });
}

void Diagnosis::check_clocks() {
  add("clocks", device_ != nullptr, [&](Check& check) {
    check = {"clocks", State::ok, "estimated by a clock of the virtual device, the same in each run", ""};
    if (device_->evidence() != Evidence::silicon) return;
    const auto state = parts_.card_state ? parts_.card_state(request_.device) : std::nullopt;
    if (!state) {
      check = {"clocks", State::warning, "unknown: there is no NVML, or it does not know the card",
               "install libnvidia-ml.so.1, which comes with the driver (nvidia-utils)"};
      return;
    }
    std::vector<std::string> parts;
    if (state->power_limit_w > 0) {
      parts.push_back(fmt::format("power limit {:.0f}/{:.0f} W", state->power_limit_w, state->most_power_limit_w));
    }
    parts.emplace_back(state->are_clocks_set ? "clocks locked" : "clocks not locked");
    parts.push_back(fmt::format("now {:.0f} of {:.0f} MHz", state->sm_mhz, state->most_sm_mhz));
    if (state->power_state) parts.push_back(fmt::format("P{}", *state->power_state));
    if (state->temperature_c > 0) parts.push_back(fmt::format("{} degrees", state->temperature_c));
    if (!state->throttled_by.empty()) parts.push_back("throttled by " + state->throttled_by);
    check.finding = fmt::format("{}", fmt::join(parts, ", "));
    const bool is_slowed = !state->throttled_by.empty() || state->temperature_c >= kHot_c;
    if (is_slowed) check.state = State::warning;
    if (is_slowed) check.advice = "see to its cooling and power, or lock its clocks lower";
    if (!state->are_clocks_set) {
      if (is_slowed) check.advice += "; ";
      check.advice += fmt::format(
          "`nvidia-smi -i {} -lgc {:.0f}` as root locks them for steadier times, -rgc gives them "
          "back",
          state->index.value_or(0), 0.8 * state->most_sm_mhz);
    }
  });
}

void Diagnosis::check_processes() {
  add("other processes", device_ != nullptr, [&](Check& check) {
    check = {"other processes", State::ok, "none", ""};
    if (!parts_.card_processes) return;
    std::vector<std::string> others;
    for (const CardProcess& process : parts_.card_processes(request_.device)) {
      others.push_back(fmt::format("{} {}{}", process.id, process.name.empty() ? "(of elsewhere)" : process.name,
                                   process.bytes > 0 ? ", " + megabytes(process.bytes) : ""));
    }
    if (others.empty()) return;
    check = {"other processes", State::warning, fmt::format("{}", fmt::join(others, "; ")),
             "what they do meanwhile makes times vary: end what is not needed"};
  });
}

}  // namespace

void require_compiler_fits(const Compiler& compiler, const Device& device) {
  const std::optional<int> driver = device.driver_cuda_major();
  if (!driver || compiler.cuda_major() <= *driver) return;
  throw EnvironmentError(
      fmt::format("{} makes code for CUDA {}, but the driver ({}) takes CUDA {} at most. Install a newer driver "
                  "(CUDA 13 needs 580 or later), or use the NVRTC of CUDA {} with --nvrtc PATH.",
                  compiler.version(), compiler.cuda_major(), device.description(), *driver, *driver));
}

Json to_json(const DiagnosisRequest& request) {
  return {{"request", "diagnose"},
          {"device", request.device},
          {"nvrtc", request.nvrtc_path},
          {"task_bytes", request.task_bytes}};
}

DiagnosisRequest diagnosis_request_from_json(const Json& json) {
  return {json.at("device").get<std::string>(), json.at("nvrtc").get<std::string>(),
          json.at("task_bytes").get<int64_t>()};
}

std::vector<Check> diagnose(const WorkerParts& parts, const DiagnosisRequest& request) {
  return Diagnosis(parts, request).run();
}

std::vector<Check> diagnose_in_worker(const DiagnosisRequest& request, const RunnerOptions& options) {
  const TemporaryFolder folder("warpwright-run");
  WorkerProcess worker(options.worker_program.empty() ? this_program() : options.worker_program,
                       folder.path() / "diagnosis.log");
  const std::atomic<bool>* stop = options.stop;
  const WorkerReply reply = worker.call(to_json(request), kTimeout_s, [stop] { return stop != nullptr && *stop; });
  if (reply.end == WorkerReply::End::stopped) throw Interrupted();
  if (!reply.answered()) {
    return {{"driver", State::failed,
             fmt::format("the worker {}{}{}", reply.how(), reply.log_tail.empty() ? "" : ": ", reply.log_tail),
             "the driver or the compiler library breaks the process that opens it: install them anew"}};
  }
  protocol::throw_if_error(reply.json);
  std::vector<Check> checks;
  for (const Json& check : reply.json.at("checks")) checks.push_back(check_from_json(check));
  return checks;
}

}  // namespace warpwright
