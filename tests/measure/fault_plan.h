// FaultPlan: tells the misbehaving worker what to do, step by step, whatever process takes the step.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/core/file.h"

namespace warpwright {

inline constexpr const char* kFaultFolderVariable = "WARPWRIGHT_TEST_FAULTS";

/// The parent's side: a folder with the steps of `compile`, `run` and `probe` (the empty kernel that tells a broken
/// compiler); steps beyond the end are `ok`.
class FaultPlan {
 public:
  FaultPlan(const std::vector<std::string>& compile, const std::vector<std::string>& run,
            const std::vector<std::string>& probe = {}) {
    write("compile", compile);
    write("run", run);
    write("probe", probe);
    setenv(kFaultFolderVariable, folder_.path().c_str(), 1);
  }
  ~FaultPlan() { unsetenv(kFaultFolderVariable); }
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;

  const std::filesystem::path& folder() const { return folder_.path(); }
  /// Steps taken so far.
  size_t taken(const std::string& list) const {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(folder_.path() / (list + ".taken"), error);
    return error ? 0 : static_cast<size_t>(size);
  }

 private:
  void write(const std::string& list, const std::vector<std::string>& steps) {
    std::ofstream file(folder_.path() / list);
    for (const std::string& step : steps) file << step << '\n';
  }
  TemporaryFolder folder_{"warpwright-faults"};
};

/// The worker's side: the next step of a list, counted by the bytes of a file.
inline std::string next_fault(const std::string& list) {
  const char* folder = getenv(kFaultFolderVariable);
  if (folder == nullptr) return "ok";
  const std::filesystem::path path = std::filesystem::path(folder) / list;
  const int fd = open((path.string() + ".taken").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0 || ::write(fd, ".", 1) != 1) return "no plan";
  const off_t taken = lseek(fd, 0, SEEK_CUR);
  close(fd);
  std::ifstream file(path);
  std::string step = "ok";
  for (off_t i = 0; i < taken; ++i) {
    if (!std::getline(file, step)) return "ok";
  }
  return step;
}

}  // namespace warpwright
