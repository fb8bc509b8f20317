// The log: plain lines on stderr, whole lines even from several threads.
#include "src/core/log.h"

#include <atomic>
#include <cstdio>
#include <string>

#include "src/core/printable.h"

namespace warpwright {

namespace {
std::atomic<LogLevel> least_level{LogLevel::info};
}

void set_log_level(LogLevel least) { least_level = least; }

void log_line(LogLevel level, std::string_view text) {
  if (level < least_level) return;
  std::string line = "warpwright: ";
  if (level == LogLevel::warning) line += "warning: ";
  if (level == LogLevel::error) line += "error: ";
  line += printable(text);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace warpwright
