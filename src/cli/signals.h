// SIGINT, SIGTERM and SIGHUP as a flag: the work ends after what is under way; a second signal ends the process at
// once.
#pragma once

#include <signal.h>

#include <atomic>
#include <vector>

namespace warpwright {

/// From its construction on, signals set the flag instead of ending the process. One at a time. A SIGHUP that is
/// ignored already (nohup) stays ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::atomic<bool>* flag();
  /// 129, 130 or 143 after a signal, else 0.
  int exit_status() const;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

/// From its construction on, an output that nobody reads any more ends nothing: what is said is lost, and is_broken()
/// tells. Stays so to the end of the process once one broke.
class BrokenPipes {
 public:
  BrokenPipes();
  ~BrokenPipes();
  BrokenPipes(const BrokenPipes&) = delete;
  BrokenPipes& operator=(const BrokenPipes&) = delete;

  bool is_broken() const;
  /// What the shell shows of a process that SIGPIPE ended.
  static constexpr int kExitStatus = 128 + SIGPIPE;

 private:
  struct sigaction before_ {};
};

}  // namespace warpwright
