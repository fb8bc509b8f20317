// Candidates: what a database knows of a task's Configs, or of those of a like task, made comparable by the default
// that each run measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "database/database.h"
#include "src/core/config.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

enum class Card { same, same_arch };

/// How a Config did against the default of its runs.
enum class Standing {
  no_default,  // none of its runs, nor another one on this card, has a time of the default
  is_default,  // it is the default that its run measured
  faster,      // beyond noise
  not_faster,  // slower, or too close to tell
};

/// All ok records of one Config on one card with one kind of evidence.
struct Candidate {
  Config config;  // in today's space version
  Record record;  // the fastest against its default
  Card card = Card::same_arch;
  Workload measured_workload;
  Target measured_target;
  Standing standing = Standing::no_default;
  bool was_final = false;    // measured in turn with the default, so that a verdict decided
  bool won = false;          // and it is the winner of that verdict
  double relative_time = 0;  // to the default's; without a default plain microseconds
  double relative_high = 0;  // what relative_time may be at the worst, by the spread of both
  double default_us = 0;     // of the run of `record`; 0: unknown
};

/// Whose records are looked up, and what their Configs are wanted for.
struct Lookup {
  std::string workload_key;    // whose records
  Workload measured_workload;  // of that key
  std::string built_key;       // of the task that is built; the same, or one of a like shape
  Workload built_workload;
  Target target;
  bool is_stale = false;  // Configs of older space versions, taken as today's; else today's alone
};

struct Found {
  std::vector<Candidate> candidates;       // in no order that times have a part in
  std::map<std::string, int64_t> refused;  // records or, of those that look-ups stop at, Configs, by reason
  bool has_records = false;
};

/// The fastest Configs of each card and space version that may serve on the target, and the defaults they were measured
/// beside. Reads no more than it needs of each, whatever the size of the database.
Found look_up(const Database& database, const Lookup& lookup);

/// Expected times on a card for ranking alone: the analytic prior there, corrected by how far the prior was from the
/// measurement on the other card or shape. Nothing but prior and stored evidence goes in, so that it is the same
/// everywhere.
class TransferredTimes {
 public:
  TransferredTimes(const Workload& workload, const Target& target) : workload_(workload), target_(target) {}
  double us(const Candidate& candidate);

 private:
  /// The prior of the default for what was measured; 0 where there is no default.
  double default_us_there(const Candidate& candidate);

  const Workload& workload_;
  const Target& target_;
  std::map<std::pair<std::string, std::string>, double> defaults_us_;  // by Workload and Target
};

}  // namespace warpwright
