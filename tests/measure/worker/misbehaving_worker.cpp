// A worker program whose compiler and device do what the FaultPlan of the test says.
#include <unistd.h>

#include <cstring>

#include "measure/worker.h"
#include "tests/measure/worker/misbehaving_parts.h"

int main(int argc, char** argv) {
  using namespace warpwright;
  if (argc != 2 || std::strcmp(argv[1], "worker") != 0) return 2;
  return run_worker(STDIN_FILENO, STDOUT_FILENO,
                    {[](const std::string& path) -> std::unique_ptr<Compiler> {
                       if (!path.empty()) throw EnvironmentError("no NVRTC at " + path);
                       return std::make_unique<MisbehavingCompiler>();
                     },
                     [](std::string_view name, const DeviceOptions& options) -> std::unique_ptr<Device> {
                       if (name != "fake:card" && name != "fake:second" && name != "fake:virtual") {
                         throw UsageError("there is no such device");
                       }
                       return std::make_unique<MisbehavingDevice>(name, options.checked);
                     },
                     [](std::string_view name) { return name == "fake:virtual" ? "" : "test " + std::string(name); },
                     [](std::string_view) -> std::optional<CardState> {
                       CardState state;
                       state.sm_mhz = 2520, state.memory_mhz = 10501, state.throttled_by = "power_cap";
                       return state;
                     }});
}
