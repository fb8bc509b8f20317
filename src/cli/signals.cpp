// Signal handlers.
#include "src/cli/signals.h"

#include <unistd.h>

#include <csignal>

namespace warpwright {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> received{0};

extern "C" void note_signal(int number) {
  if (received.exchange(number) != 0) _exit(128 + number);
  stop.store(true);
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  stop = false;
  received = 0;
  handle(note_signal);
}

StopSignals::~StopSignals() { handle(SIG_DFL); }

std::atomic<bool>* StopSignals::flag() { return &stop; }

int StopSignals::exit_status() const { return received == 0 ? 0 : 128 + received; }

}  // namespace warpwright
