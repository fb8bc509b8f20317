// Content keys: what makes two rows the same, in whichever file they stand.
#pragma once

#include <string>

#include "database/database.h"

namespace warpwright {

/// SHA-256 over the canonical JSON of what was measured, on what, and what came of it: Workload key, Config, device,
/// Target key, evidence, environment, conditions, outcome kind, samples, objective, hashes and resources. Seconds
/// spent, logs, run and host are no part of it.
std::string content_key(const Record& record);
/// Of the device's row.
std::string device_key(const Record& record);
/// Of a Config, by its canonical text.
std::string config_key(const std::string& config_json);
std::string environment_key(const Record& record);
/// Of a run: what a user asks for.
std::string run_key(const RunKey& key);

}  // namespace warpwright
