// WorkerProcess: a disposable process that compiles and runs kernels; its crash or hang costs one request.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "src/core/json.h"

namespace warpwright {

/// How a request ended.
struct WorkerReply {
  enum class End {
    answered,   // `json` is the answer
    timed_out,  // past its deadline: killed
    died,       // by `signal`, or it exited with `exit_status`
    stopped,    // the caller wanted to stop: killed
  };
  End end = End::died;
  Json json;
  int signal = 0;
  int exit_status = 0;
  bool was_halted = false;  // timed_out, but by then somebody had halted it (SIGSTOP, a debugger)
  std::string log_tail;     // what the worker wrote to stderr during the request, its end; empty when answered

  bool answered() const { return end == End::answered; }
  /// Killed (out of memory, an operator) or halted from outside, which says nothing about the request.
  bool ended_from_outside() const;
  /// `died of signal 11 (Segmentation fault)`.
  std::string how() const;
};

/// Whether to stop; asked often, while a worker is waited for. Empty: never.
using StopCheck = std::function<bool()>;

/// `program worker`, started when the first request comes, again after a failure, and afresh after kRequestsPerLife.
///
/// The process leads its own process group; the whole group is killed at a deadline and in the destructor. The kernel
/// kills it when the thread that started it ends: a WorkerProcess is used by threads that outlive it.
class WorkerProcess {
 public:
  static constexpr int kRequestsPerLife = 256;

  /// `log_path` takes the worker's stderr.
  WorkerProcess(std::string program, std::filesystem::path log_path);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// One request, one answer. Throws EnvironmentError when no worker can be started. Time in which this process itself
  /// was halted (the machine slept, Ctrl-Z) does not count towards the deadline.
  WorkerReply call(const Json& request, double timeout_s, const StopCheck& stop);
  /// Ends the process now; the next call starts another. For a worker whose device can no longer be trusted.
  void replace();
  /// Counts the processes started so far: what a worker keeps in memory is gone when it changes.
  int life() const { return life_; }
  pid_t process_id() const { return process_; }  // 0 when none is up

 private:
  void start();
  void spawn();
  WorkerReply read_line(double timeout_s, const StopCheck& stop);
  std::optional<WorkerReply> take_line(size_t& searched);
  bool is_halted() const;
  WorkerReply end_process(WorkerReply::End end);
  bool send_line(const std::string& line, double timeout_s);
  std::string log_tail() const;

  std::string program_;
  std::filesystem::path log_path_;
  pid_t process_ = 0;
  int socket_ = -1;
  int life_ = 0;
  int requests_ = 0;
  std::string unread_;
};

/// The program that this process runs: the default worker program.
std::string this_program();

}  // namespace warpwright
