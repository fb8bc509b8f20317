// Rows: what a database holds, one kind of row a struct, free of the ids of any one file. Merge, migration, export and
// import are all a stream of rows from somewhere to somewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "database/database.h"

namespace warpwright {

/// Bound of names, reasons, arguments and the like.
inline constexpr size_t kMostNameBytes = 4096;
/// Bound of a run's summary.
inline constexpr size_t kMostSummaryBytes = 1024 * 1024;

struct RunRow {
  std::string uid;
  RunKey key;
  std::string started_utc, heartbeat_utc, ended_utc, end_reason;
  Json summary;
  // Provenance, outside every key.
  std::string model_name, arguments, host, user;
};

struct RecordRow {
  Record record;  // its run_id and trial stand in TrialRows
  std::string host, user, recorded_utc;
};

/// That a run made a record, or met one that it knew.
struct TrialRow {
  std::string run_uid;
  int64_t trial_index = 0;
  std::string record_key;
  bool is_default = false;
};

struct RetractionRow {
  std::string record_key, reason;
};

struct ClearanceRow {
  std::string record_key, verified_by;
};

/// In a stream: runs and records before the trials that name them.
using Row = std::variant<RunRow, RecordRow, TrialRow, RetractionRow, ClearanceRow>;

/// `run`, `record`, `trial`, `retraction`, `clearance`.
std::string_view kind_of(const Row& row);

/// What is wrong with a row from outside: a text beyond its bound or no UTF-8, JSON that is not canonical, an ok record
/// without samples, a content key of other content. Nothing when it may stand in a database.
std::optional<std::string> why_invalid(const Row& row);
/// The same of a record whose content key is not computed yet.
std::optional<std::string> why_invalid(const Record& record);

/// Text fit to be stored: what is no UTF-8 replaced, cut to `most_bytes`.
std::string storable(std::string_view text, size_t most_bytes);

}  // namespace warpwright
