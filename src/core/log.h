// Log to stderr: one plain line a message. Data goes to stdout and never through here.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace warpwright {

enum class LogLevel { debug, info, warning, error };

void set_log_level(LogLevel least);
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace warpwright
