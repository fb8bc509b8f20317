// Streams of rows by schema version.
#include "database/row_reader.h"

#include <algorithm>
#include <tuple>

#include "database/record_query.h"
#include "database/run_rows.h"
#include "database/version_1.h"

namespace warpwright {
namespace {

constexpr const char* kSelectTrials = R"sql(
SELECT u.uid, t.trial_index, r.content_key,
       EXISTS (SELECT 1 FROM defaults f
               WHERE f.workload_id = r.workload_id AND f.run_id = t.run_id AND f.record_id = r.id)
FROM trials t JOIN runs u ON u.id = t.run_id JOIN records r ON r.id = t.record_id
WHERE NOT EXISTS (SELECT 1 FROM retractions x WHERE x.record_key = r.content_key)
ORDER BY u.uid, t.trial_index, r.content_key
)sql";

/// Pairs of texts of one table.
template <typename PairRow>
void read_pairs(const Connection& connection, const char* sql, const TakeRow& take) {
  Statement rows = connection.prepare(sql);
  while (rows.step()) take(PairRow{rows.text(0), rows.text(1)});
}

void read_runs_by_start(const Connection& connection, const TakeRow& take) {
  std::vector<StoredRun> runs = read_runs(connection);
  std::sort(runs.begin(), runs.end(), [](const StoredRun& a, const StoredRun& b) {
    return std::tie(a.row.started_utc, a.row.uid) < std::tie(b.row.started_utc, b.row.uid);
  });
  for (StoredRun& run : runs) take(std::move(run.row));
}

void read_records(const Connection& connection, const TakeRow& take, const TakeDamaged& damaged) {
  RecordQuery records(connection, "TRUE ORDER BY r.content_key");
  while (std::optional<RecordRow> row = records.next()) take(std::move(*row));
  for (const auto& [why, count] : records.damaged()) {
    for (int64_t i = 0; i < count; ++i) damaged({"record", why});
  }
}

void read_trials(const Connection& connection, const TakeRow& take) {
  Statement trials = connection.prepare(kSelectTrials);
  while (trials.step()) {
    take(TrialRow{trials.text(0), trials.integer(1), trials.text(2), trials.integer(3) != 0});
  }
}

void read_version_2(const Connection& connection, RowPart part, const TakeRow& take, const TakeDamaged& damaged) {
  switch (part) {
    case RowPart::runs:
      return read_runs_by_start(connection, take);
    case RowPart::records:
      return read_records(connection, take, damaged);
    case RowPart::trials:
      return read_trials(connection, take);
    case RowPart::marks:
      read_pairs<RetractionRow>(connection, "SELECT record_key, reason FROM retractions ORDER BY record_key, reason",
                                take);
      read_pairs<ClearanceRow>(connection,
                               "SELECT record_key, verified_by FROM clearances ORDER BY record_key, verified_by", take);
      return;
  }
}

}  // namespace

void read_rows(const Connection& connection, RowPart part, const TakeRow& take, const TakeDamaged& damaged) {
  const auto take_valid = [&](Row row) {
    if (const auto why = why_invalid(row)) {
      damaged({std::string(kind_of(row)), *why});
    } else {
      take(std::move(row));
    }
  };
  if (connection.integer("PRAGMA user_version") == 1) {
    read_version_1(connection, part, take_valid, damaged);
  } else {
    read_version_2(connection, part, take_valid, damaged);
  }
}

void read_rows(const Connection& connection, const TakeRow& take, const TakeDamaged& damaged) {
  for (const RowPart part : {RowPart::runs, RowPart::records, RowPart::trials, RowPart::marks}) {
    read_rows(connection, part, take, damaged);
  }
}

}  // namespace warpwright
