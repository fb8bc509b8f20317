// Signal handlers.
#include "src/cli/signals.h"

#include <unistd.h>

#include <array>

namespace warpwright {
namespace {

constexpr std::array kStopping{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> stop{false}, has_broken_pipe{false};
std::atomic<int> received{0};

extern "C" void note_signal(int number) {
  if (received.exchange(number) != 0) _exit(128 + number);
  stop.store(true);
}

extern "C" void note_broken_pipe(int) { has_broken_pipe.store(true); }

/// Gives what was before.
struct sigaction handle(int number, void (*handler)(int)) {
  struct sigaction action {
  }, before{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, &before);
  return before;
}

}  // namespace

StopSignals::StopSignals() {
  stop = false;
  received = 0;
  for (const int number : kStopping) {
    const struct sigaction before = handle(number, note_signal);
    before_.emplace_back(number, before);
    if (number == SIGHUP && before.sa_handler == SIG_IGN) handle(number, SIG_IGN);
  }
}

StopSignals::~StopSignals() {
  for (const auto& [number, before] : before_) sigaction(number, &before, nullptr);
}

std::atomic<bool>* StopSignals::flag() { return &stop; }

int StopSignals::exit_status() const { return received == 0 ? 0 : 128 + received; }

BrokenPipes::BrokenPipes() {
  has_broken_pipe = false;
  before_ = handle(SIGPIPE, note_broken_pipe);
}

BrokenPipes::~BrokenPipes() {
  if (!is_broken()) sigaction(SIGPIPE, &before_, nullptr);
}

bool BrokenPipes::is_broken() const { return has_broken_pipe; }

}  // namespace warpwright
