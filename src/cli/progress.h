// Progress of long work on stderr: on a terminal one line drawn anew, else plain lines now and then.
#pragma once

#include <chrono>
#include <string>

namespace warpwright {

class Progress {
 public:
  Progress();
  /// Ends the line that is being drawn.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows the text; a log gets it only when `kSecondsBetweenLines` have passed since the last one, or when it is due.
  void show(const std::string& text, bool is_due = false);
  double elapsed_s() const;

  static constexpr double kSecondsBetweenLines = 10;

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_;
  bool is_drawn_ = false;
  Clock::time_point start_, last_;
};

}  // namespace warpwright
