// Drawing of progress.
#include "src/cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "src/core/log.h"

namespace warpwright {
namespace {

/// Columns of the terminal on stderr.
size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress() : is_terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (is_drawn_) std::fputc('\n', stderr);
}

void Progress::show(const std::string& text, bool is_due) {
  if (is_terminal_) {
    const std::string line = fmt::format("\r{}\033[K", text.substr(0, terminal_width() - 1));
    std::fwrite(line.data(), 1, line.size(), stderr);  // a terminal that is gone ends nothing
    is_drawn_ = true;
    return;
  }
  const Clock::time_point now = Clock::now();
  if (!is_due && std::chrono::duration<double>(now - last_).count() < kSecondsBetweenLines) return;
  last_ = now;
  log_info("{}", text);
}

double Progress::elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

}  // namespace warpwright
