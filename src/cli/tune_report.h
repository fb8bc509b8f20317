// What `tune` says while it works and at its end.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "src/cli/progress.h"
#include "src/core/json.h"
#include "src/tuner/tuner.h"

namespace warpwright {

/// `212 of 300 trials`.
std::string trials_text(int64_t done, std::optional<int64_t> most);

/// One line on where a run stands, with the time left. Several may share a terminal.
class TuneProgress {
 public:
  TuneProgress(const RunInfo& run, std::optional<int64_t> most, std::optional<double> seconds)
      : run_(run), most_(most), seconds_(seconds) {}
  void show(const TuneSummary& summary);

 private:
  std::string left_text(int64_t done, int64_t here, double elapsed) const;

  Progress progress_;
  const RunInfo& run_;
  std::optional<int64_t> most_;
  std::optional<double> seconds_;
};

Json summary_json(const TuneSummary& summary, const RunInfo& run, const std::vector<Task>& tasks);
/// `are_estimates`: times are those of a virtual clock. `limit_s`: time that the run was given.
void print_summary(const TuneSummary& summary, const RunInfo& run, const std::vector<Task>& tasks, bool are_estimates,
                   std::optional<double> limit_s);

}  // namespace warpwright
