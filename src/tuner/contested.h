// Contested Configs: ok in one record and wrong in another on the same architecture. They are quarantined, and worth a
// trial that settles it.
#pragma once

#include <vector>

#include "database/database.h"
#include "src/core/target.h"
#include "src/tuner/task_search.h"

namespace warpwright {

/// Whether the record says that its Config gives wrong results.
bool is_objection(const Record& record);

/// The contested Configs of today's space, the fastest first, of what runs other than `run_id` recorded with that kind
/// of evidence. Takes their records out of `records`, so that they count as unknown, and wrong results that were
/// cleared.
std::vector<Config> take_contested(std::vector<Record>& records, const TaskSearch& task, const Target& target,
                                   Evidence evidence, int64_t run_id, const Database& database);

/// After an ok record of that key: clears what earlier records with the same kind of evidence held against its Config.
void clear_objections(Database& database, const Record& record, const std::string& content_key);

}  // namespace warpwright
