// Known records: what other runs, merged ones too, found out about a task on this device.
#pragma once

#include <functional>
#include <vector>

#include "database/database.h"
#include "measure/runner.h"
#include "src/core/target.h"
#include "src/tuner/task_search.h"

namespace warpwright {

/// A Config of today's space with what is known of it.
struct KnownResult {
  Config config;
  double us = 0;  // 0: failed for good, on any host
};

/// Of `records`, those of this device whose Config today's space holds, each Config once, in the order of first record.
/// Times of runs that measured the default are scaled to one default, so that they compare. Transient outcomes teach
/// nothing.
std::vector<KnownResult> known_results(const std::vector<Record>& records, const TaskSearch& task,
                                       const std::string& device_name, const Target& target);

/// Of the retracted records of a task, the Configs of today's space that a trial would only bring back the same record
/// of: where times do not vary, or what the compiler refused. A trial that may come out otherwise is worth making.
std::vector<Config> retracted_configs(const std::vector<Record>& retracted, const TaskSearch& task,
                                      const Runner& runner);

}  // namespace warpwright
