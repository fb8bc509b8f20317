// Worker: the body of `warpwright worker`, which compiles and measures on request until its input ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/compiler.h"
#include "measure/measurement.h"

namespace warpwright {

/// What a worker works with.
struct WorkerParts {
  std::function<std::unique_ptr<Compiler>(const std::string& nvrtc_path)> open_compiler;
  DeviceFactory open_device;
  std::function<std::string(std::string_view device)> card_id;  // see src/device/card_state.h
  CardStateReader card_state;
  std::function<std::vector<CardProcess>(std::string_view device)> card_processes = {};
};

/// NVRTC and the devices of --device. Returns the exit status: 0 when the input ended.
int run_worker(int in_fd, int out_fd);
int run_worker(int in_fd, int out_fd, WorkerParts parts);

}  // namespace warpwright
