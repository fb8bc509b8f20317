// Records of one task made comparable: grouped by Config, normalized by the default of their run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "database/database.h"
#include "src/core/config.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

enum class Card { same, same_arch, other };

/// All ok records of one Config on one device with one kind of evidence.
struct Candidate {
  Config config;
  const Record* record = nullptr;  // the fastest against its default
  Card card = Card::other;
  Target measured_target;    // the card it was measured on
  double relative_time = 0;  // median of all samples, each divided by the default's median in its run
  double default_us = 0;     // the default of the record's run; 0: unknown
  bool has_default = false;  // relative_time is against a default, else plain microseconds
};

/// Medians of the defaults of one task, by run.
class Baselines {
 public:
  explicit Baselines(const std::vector<Record>& records);
  /// The default's median in the run of `record`, else over all runs of its device, else 0.
  double default_us(const Record& record) const;

 private:
  std::map<std::string, std::vector<double>> by_run_, by_device_;
};

struct Usable {
  std::vector<Candidate> candidates;
  std::map<std::string, int64_t> refused;
};

/// Which records serve on `target`; the others are counted by reason.
Usable usable_records(const Workload& workload, const std::vector<Record>& records, const Target& target);

/// Expected time on `target` for ranking alone: the analytic prior there, corrected by how far the prior was from the
/// measurement on the other card. Nothing but prior and stored evidence goes in, so that it is the same everywhere.
double transferred_us(const Workload& workload, const Candidate& candidate, const Target& target);

}  // namespace warpwright
