// Runs out of their table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

struct StoredRun {
  int64_t id = 0;
  int64_t trials_done = 0;
  RunRow row;
};

/// In the order of their ids; all, or the one of that id. Damaged ones too: `why_invalid` tells.
std::vector<StoredRun> read_runs(const Connection& connection, std::optional<int64_t> id = std::nullopt);
RunInfo info_of(const StoredRun& run);

}  // namespace warpwright
