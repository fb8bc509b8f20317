// Records in and out of their tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "database/sqlite.h"

namespace warpwright {

struct RecordRows {
  std::vector<Record> records;
  int64_t damaged = 0;  // rows that were skipped: unknown names, bad JSON, other content than their key says
};

/// Records that fulfil `condition` and are not retracted. SQL over r: records, d: devices, w: workloads, t: the trial
/// that made it, with ?1 for `parameter`. `run_id`: the run whose trials are meant; nullopt: the first that made the
/// record.
RecordRows read_records(const Connection& connection, std::string_view condition, std::string_view parameter,
                        std::optional<int64_t> run_id = std::nullopt);

/// Inserts what is not there yet; returns the content key. Call within a Transaction.
std::string insert_record(const Connection& connection, const Record& record);

/// `2026-11-30T21:52:39Z`.
std::string utc_now();

}  // namespace warpwright
