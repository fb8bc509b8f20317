// A card for the whole program: the virtual driver in the place of libcuda.so.1, with its faults.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "src/core/file.h"
#include "src/core/json.h"
#include "tests/cli/program.h"

namespace warpwright {

class VirtualCard : public testing::Test {
 protected:
  VirtualCard() { std::filesystem::create_directory(folder_.path() / "tmp"); }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// With $VIRTUAL_CUDA_FAULT (tests/device/virtual_driver/driver_fault.h), counted from here on.
  ProgramResult run(const std::vector<std::string>& arguments, const std::string& fault = "",
                    std::map<std::string, std::string> more = {}) {
    std::filesystem::remove(folder_.path() / "launches");
    std::filesystem::remove(folder_.path() / "openings");
    more["LD_LIBRARY_PATH"] = WARPWRIGHT_VIRTUAL_DRIVER;
    more["VIRTUAL_CUDA_FOLDER"] = folder_.path().string();
    more["VIRTUAL_CUDA_FAULT"] = fault;
    more["TMPDIR"] = path("tmp");
    return run_program(arguments, more);
  }
  Json json(std::vector<std::string> arguments, const std::string& fault = "", int status = 0) {
    arguments.push_back("--json");
    const ProgramResult result = run(arguments, fault);
    EXPECT_EQ(result.status, status) << result.err << result.out;
    return Json::parse(result.out, nullptr, false);
  }
  /// `launches` or `openings` of the card in the last run.
  int64_t count(const std::string& what) const {
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(folder_.path() / what, error);
    return error ? 0 : static_cast<int64_t>(bytes);
  }

  TemporaryFolder folder_{"warpwright-virtual-card"};
  const std::filesystem::path case_ = test_data() / "cases/block_residual_unrounded_s8";
  const std::string model_ = (case_ / "model.onnx").string();
};

}  // namespace warpwright
