// Best history: which of the records in a database a build may use for a task, and how well they match.
//
// The way down is exact, arch, near, stale, default (rung.h). A record counts when it is ok, its Config is legal for
// the task in today's space, nothing on the same architecture recorded wrong results for that Config, and it beat the
// default that its run measured: by the verdict of finalists measured in turn, or else beyond the spread of its
// samples. Where the default won, it is taken, and that is a hit too. Virtual evidence never displaces silicon: for a
// card, all rungs are tried with silicon first, then with virtual evidence, unless the policy takes any. For a virtual
// target it is the other way round.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "database/database.h"
#include "src/compile/build_target.h"
#include "src/compile/rung.h"
#include "src/core/config.h"
#include "src/core/outcome.h"
#include "src/tasks/tasks.h"

namespace warpwright {

enum class EvidencePolicy {
  prefer,   // the target's own evidence first, the other kind where there is none; a hit is the target's own kind
  silicon,  // silicon records alone
  any,      // both kinds alike
};

/// Hashes of the code that ran when a Config was measured; empty when unknown.
struct CodeHashes {
  std::string source, ptx, cubin;
  bool operator==(const CodeHashes&) const = default;
};

/// The Config for a task, and why it is this one.
struct Choice {
  Config config;
  Rung rung = Rung::default_config;
  std::optional<Evidence> evidence;        // none for a default without record
  std::string measured_on;                 // device of the record
  std::string environment;                 // driver and compiler of the record
  std::string record_key;                  // content key of the record
  CodeHashes measured;                     // what ran then
  std::string measured_workload;           // its summary, where it is another than the task's: on the rung near
  double default_us = 0, best_us = 0;      // on that device, in one run; 0: unknown
  int64_t trials = 0;                      // records of what was measured there: the search effort
  std::string why;                         // why nothing better serves; empty when there is nothing to say
  std::map<std::string, int64_t> refused;  // reasons of records that did not serve, with their number
};

class BestHistory {
 public:
  /// `database` outlives it; null: defaults alone.
  BestHistory(const Database* database, BuildTarget target, EvidencePolicy policy);
  /// Throws UsageError when no family takes the task at all.
  Choice choose(const Task& task) const;

 private:
  class Climb;

  const Database* database_;
  BuildTarget target_;
  EvidencePolicy policy_;
};

/// True when the choice is at least as good as `least` and has the evidence that counts for this target.
bool is_hit(const Choice& choice, Rung least, const BuildTarget& target, EvidencePolicy policy);

}  // namespace warpwright
