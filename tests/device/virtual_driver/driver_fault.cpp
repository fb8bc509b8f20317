// Counting launches among processes by the bytes of a file.
#include "tests/device/virtual_driver/driver_fault.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace virtual_driver {
namespace {

/// Of kinds that a launch ends with.
CUresult error_of(const std::string& kind) {
  static const std::map<std::string, CUresult> errors = {{"illegal_address", CUDA_ERROR_ILLEGAL_ADDRESS},
                                                         {"misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
                                                         {"launch_timeout", CUDA_ERROR_LAUNCH_TIMEOUT},
                                                         {"assertion", CUDA_ERROR_ASSERT},
                                                         {"ecc", CUDA_ERROR_ECC_UNCORRECTABLE},
                                                         {"lost", CUDA_ERROR_UNKNOWN},
                                                         {"gone", CUDA_ERROR_UNKNOWN}};
  const auto found = errors.find(kind);
  return found == errors.end() ? CUDA_SUCCESS : found->second;
}

}  // namespace

DriverFault::DriverFault() {
  const char* folder = getenv("VIRTUAL_CUDA_FOLDER");
  const char* fault = getenv("VIRTUAL_CUDA_FAULT");
  if (folder != nullptr) folder_ = folder;
  if (fault == nullptr) return;
  kind_ = fault;
  const size_t at = kind_.find('@');
  if (at == std::string::npos) return;
  at_ = std::stoll(kind_.substr(at + 1));
  kind_.resize(at);
}

/// The number of this one, or, without adding, of those so far.
int64_t DriverFault::count(const std::string& what, bool adds) const {
  if (folder_.empty()) return 0;
  const int file = open((std::filesystem::path(folder_) / what).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || (adds && write(file, ".", 1) != 1)) abort();
  const off_t number = lseek(file, 0, adds ? SEEK_CUR : SEEK_END);
  close(file);
  return number;
}

CUresult DriverFault::at_launch() {
  if (count("launches", true) != at_ || at_ == 0) return CUDA_SUCCESS;
  if (kind_ == "out_of_memory") is_full_ = true;
  return error_of(kind_);
}

CUresult DriverFault::at_allocation() {
  if (!is_full_) return CUDA_SUCCESS;
  is_full_ = false;
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult DriverFault::at_opening() const {
  const int64_t number = count("openings", true);
  return kind_ == "busy" && (at_ == 0 || number == at_) ? CUDA_ERROR_DEVICE_UNAVAILABLE : CUDA_SUCCESS;
}

CUresult DriverFault::at_start() const {
  return kind_ == "gone" && count("launches", false) >= at_ ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

}  // namespace virtual_driver
