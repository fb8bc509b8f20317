// Streams of rows by schema version.
#include "database/row_reader.h"

#include "database/record_query.h"
#include "database/run_rows.h"
#include "database/schema.h"
#include "database/version_1.h"

namespace warpwright {
namespace {

using Take = std::function<void(Row)>;

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
void read_pairs(const Connection& connection, const char* sql, const Take& take) {
  Statement rows = connection.prepare(sql);
  while (rows.step()) take(PairRow{rows.text(0), rows.text(1)});
}

using Damaged = std::function<void(const DamagedRow&)>;

void read_version_2(const Connection& connection, const Take& take, const Damaged& damaged) {
  for (StoredRun& run : read_runs(connection)) take(std::move(run.row));
  RecordQuery records(connection, "TRUE ORDER BY r.content_key");
  while (std::optional<RecordRow> row = records.next()) take(std::move(*row));
  for (const auto& [why, count] : records.damaged()) {
    for (int64_t i = 0; i < count; ++i) damaged({"record", why});
  }
  Statement trials = connection.prepare(kSelectTrials);
  while (trials.step()) {
    take(TrialRow{trials.text(0), trials.integer(1), trials.text(2), trials.integer(3) != 0});
  }
  read_pairs<RetractionRow>(connection, "SELECT record_key, reason FROM retractions ORDER BY record_key, reason", take);
  read_pairs<ClearanceRow>(connection,
                           "SELECT record_key, verified_by FROM clearances ORDER BY record_key, verified_by", take);
}

}  // namespace

void read_rows(const Connection& connection, const Take& take, const Damaged& damaged) {
  const auto take_valid = [&](Row row) {
    if (const auto why = why_invalid(row)) {
      damaged({std::string(kind_of(row)), *why});
    } else {
      take(std::move(row));
    }
  };
  if (check_layout(connection) == 1) {
    read_version_1(connection, take_valid, [&](const std::string& why) { damaged({"record", why}); });
  } else {
    read_version_2(connection, take_valid, damaged);
  }
}

}  // namespace warpwright
