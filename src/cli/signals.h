// SIGINT and SIGTERM as a flag: the work ends after what is under way; a second signal ends the process at once.
#pragma once

#include <atomic>

namespace warpwright {

/// From its construction on, signals set the flag instead of ending the process. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::atomic<bool>* flag();
  /// 130 or 143 after a signal, else 0.
  int exit_status() const;
};

}  // namespace warpwright
