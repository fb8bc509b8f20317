// Starting, asking and ending worker processes.
#include "measure/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

#include "src/core/error.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStartTimeout_s = 60;
constexpr int kStartTries = 2;
constexpr int kPollStep_ms = 100;  // how late a stop flag may be seen
constexpr size_t kLongestReply_bytes = size_t{256} << 20;
constexpr double kHalt_s = 2;  // a step that took so much longer was no waiting: this process was halted
constexpr off_t kLogTail_bytes = 64 << 10;
constexpr int kReapPatience_ms = 5000;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Only async-signal-safe calls: runs between fork and exec of a program with threads.
[[noreturn]] void become_worker(const char* program, int socket, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent was gone before the line above
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execl(program, program, "worker", static_cast<char*>(nullptr));
  const char* reason = strerrordesc_np(errno);
  const ssize_t written = write(STDERR_FILENO, reason, strlen(reason));
  _exit(written > 0 ? 127 : 126);
}

/// True once the process is reaped; a process stuck in the driver is left behind with a warning.
bool reap(pid_t process, int& status) {
  for (int waited_ms = 0; waited_ms <= kReapPatience_ms; ++waited_ms) {
    const pid_t result = waitpid(process, &status, WNOHANG);
    if (result == process || (result < 0 && errno == ECHILD)) return result == process;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log_warning("worker process {} does not end after SIGKILL; it is left behind", process);
  return false;
}

}  // namespace

bool WorkerReply::ended_from_outside() const {
  if (end == End::timed_out) return was_halted;
  return end == End::died && (signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP);
}

std::string WorkerReply::how() const {
  switch (end) {
    case End::answered:
      return "answered";
    case End::timed_out:
      return was_halted ? "was halted from outside" : "was killed at its deadline";
    case End::stopped:
      return "was stopped";
    case End::died:
      break;
  }
  if (signal != 0) return fmt::format("died of signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit status {}", exit_status);
}

WorkerProcess::WorkerProcess(std::string program, std::filesystem::path log_path)
    : program_(std::move(program)), log_path_(std::move(log_path)) {}

WorkerProcess::~WorkerProcess() {
  try {
    replace();
  } catch (...) {  // only a message could fail here; the process is killed already
  }
}

void WorkerProcess::replace() {
  if (process_ != 0) end_process(WorkerReply::End::stopped);
}

void WorkerProcess::spawn() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    throw EnvironmentError(fmt::format("no channel to a worker process: {}", strerror(errno)));
  }
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = getpid();
  const pid_t child = log < 0 ? -1 : fork();
  const int fault = errno;
  if (child == 0) become_worker(program_.c_str(), pair[1], log, parent);
  close(pair[1]);
  if (log >= 0) close(log);
  if (child < 0) {
    close(pair[0]);
    throw EnvironmentError(
        fmt::format("no worker process could be started (log {}): {}", log_path_.string(), strerror(fault)));
  }
  setpgid(child, child);  // as the child does: whoever comes first
  process_ = child;
  socket_ = pair[0];
  requests_ = 0;
  ++life_;
  unread_.clear();
}

void WorkerProcess::start() {
  std::string reason;
  for (int attempt = 0; attempt < kStartTries; ++attempt) {
    spawn();
    const WorkerReply hello = read_line(kStartTimeout_s, {});
    if (hello.answered() && hello.json.is_object() && hello.json.value("worker", 0) == 1) return;
    if (hello.answered()) {
      replace();
      reason = "is another program or version";
      break;
    }
    reason = hello.how() + (hello.log_tail.empty() ? "" : ": " + hello.log_tail);
  }
  throw EnvironmentError(fmt::format("the worker program {} {}", program_, reason));
}

WorkerReply WorkerProcess::call(const Json& request, double timeout_s, const StopCheck& stop) {
  if (requests_ >= kRequestsPerLife) replace();
  if (process_ == 0) start();
  ++requests_;
  std::error_code ignored;  // an old tail at worst
  std::filesystem::resize_file(log_path_, 0, ignored);
  const Clock::time_point begin = Clock::now();
  const std::string line = request.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  if (!send_line(line, timeout_s)) {
    const bool late = seconds_since(begin) >= timeout_s;
    return end_process(late ? WorkerReply::End::timed_out : WorkerReply::End::died);
  }
  return read_line(timeout_s - seconds_since(begin), stop);
}

bool WorkerProcess::send_line(const std::string& line, double timeout_s) {
  const Clock::time_point begin = Clock::now();
  size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (seconds_since(begin) >= timeout_s) return false;
      pollfd writable{socket_, POLLOUT, 0};
      poll(&writable, 1, kPollStep_ms);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/// The next whole line of what was read so far, from `searched` on.
std::optional<WorkerReply> WorkerProcess::take_line(size_t& searched) {
  const size_t newline = unread_.find('\n', searched);
  searched = unread_.size();
  if (newline == std::string::npos) {
    if (unread_.size() > kLongestReply_bytes) return end_process(WorkerReply::End::died);
    return std::nullopt;
  }
  WorkerReply reply;
  reply.json = Json::parse(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(newline), nullptr, false);
  unread_.erase(0, newline + 1);
  if (reply.json.is_discarded()) return end_process(WorkerReply::End::died);
  reply.end = WorkerReply::End::answered;
  return reply;
}

WorkerReply WorkerProcess::read_line(double timeout_s, const StopCheck& stop) {
  std::string block(size_t{1} << 16, '\0');
  size_t searched = 0;
  double left_s = timeout_s;
  Clock::time_point step = Clock::now();
  while (true) {
    if (auto reply = take_line(searched)) return *std::move(reply);
    if (stop && stop()) return end_process(WorkerReply::End::stopped);
    pollfd readable{socket_, POLLIN, 0};
    const int wait_ms = std::clamp(static_cast<int>(left_s * 1000) + 1, 0, kPollStep_ms);
    const int ready = poll(&readable, 1, left_s > 0 ? wait_ms : 0);
    const double waited_s = seconds_since(step);
    step = Clock::now();
    if (waited_s < kHalt_s) left_s -= waited_s;
    if (ready > 0) {
      const ssize_t count = recv(socket_, block.data(), block.size(), 0);
      if (count == 0 || (count < 0 && errno != EINTR)) return end_process(WorkerReply::End::died);
      if (count > 0) unread_.append(block.data(), static_cast<size_t>(count));
    } else if (left_s <= 0) {
      return end_process(WorkerReply::End::timed_out);
    }
  }
}

/// `T` (SIGSTOP) or `t` (a debugger) in the third field, which follows the name in parentheses.
bool WorkerProcess::is_halted() const {
  std::ifstream file(fmt::format("/proc/{}/stat", process_));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() && std::toupper(line[name_end + 2]) == 'T';
}

WorkerReply WorkerProcess::end_process(WorkerReply::End end) {
  WorkerReply reply;
  reply.end = end;
  reply.was_halted = end == WorkerReply::End::timed_out && is_halted();
  int status = 0;
  bool reaped = false;
  if (end == WorkerReply::End::died) {  // its own status first, before our SIGKILL could hide it
    for (int tries = 0; tries < 200 && !reaped; ++tries) {
      reaped = waitpid(process_, &status, WNOHANG) == process_;
      if (!reaped) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  kill(-process_, SIGKILL);  // the whole group, grandchildren too
  if (!reaped) reaped = reap(process_, status);
  if (reaped && WIFSIGNALED(status)) reply.signal = WTERMSIG(status);
  if (reaped && WIFEXITED(status)) reply.exit_status = WEXITSTATUS(status);
  close(socket_);
  socket_ = -1;
  process_ = 0;
  reply.log_tail = log_tail();
  return reply;
}

std::string WorkerProcess::log_tail() const {
  std::ifstream file(log_path_, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  const std::streamoff begin = size > kLogTail_bytes ? size - kLogTail_bytes : 0;
  std::string tail(static_cast<size_t>(size - begin), '\0');
  file.seekg(begin);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  tail.resize(static_cast<size_t>(file.gcount()));
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail;
}

std::string this_program() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw EnvironmentError("the path of this program is unknown: /proc/self/exe: " + error.message());
  return program.string();
}

}  // namespace warpwright
