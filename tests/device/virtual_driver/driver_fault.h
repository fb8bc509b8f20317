// The fault that a test asks the virtual driver for: which, and when it strikes.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

namespace virtual_driver {

/// Of $VIRTUAL_CUDA_FAULT, `KIND@N`: strikes once, at the N-th launch of all processes that share $VIRTUAL_CUDA_FOLDER.
///   illegal_address, misaligned, launch_timeout, assertion, ecc   the launch fails so, and the process is lost
///   lost            the same with an unknown error: the card is back for the next process
///   gone            the same, and no later process finds a card
///   out_of_memory   the next allocation behind that launch fails
///   busy            at the N-th opening of the card, 0: at each: another process has it for itself
///   old_driver      from the start: knows neither cubins nor the version of the PTX
class DriverFault {
 public:
  DriverFault();

  /// Counts a launch of this process; the error that it ends with, or CUDA_SUCCESS.
  CUresult at_launch();
  CUresult at_allocation();
  CUresult at_opening() const;
  CUresult at_start() const;
  CUresult at_module() const { return kind_ == "old_driver" ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_SUCCESS; }

 private:
  int64_t count(const std::string& what, bool adds) const;

  std::string kind_, folder_;
  int64_t at_ = 0;
  bool is_full_ = false;
};

}  // namespace virtual_driver
