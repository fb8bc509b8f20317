// The one SELECT that gives records.
#include "database/record_query.h"

#include <fmt/format.h>

#include <limits>

#include "src/core/error.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr std::string_view kSelect = R"sql(
SELECT r.id, r.content_key, w.key, w.json, c.json, d.name, d.arch, d.target_key, d.target_json, e.description,
       r.evidence, r.outcome, r.message, r.log, r.limited_by, r.objective, r.conditions_json, r.source_hash, r.ptx_hash,
       r.cubin_hash, r.registers, r.spill_bytes, r.smem_bytes, r.compile_seconds, r.verify_seconds, r.run_seconds,
       t.run_id, u.uid, t.trial_index,
       EXISTS (SELECT 1 FROM defaults f
               WHERE f.workload_id = r.workload_id AND f.run_id = t.run_id AND f.record_id = r.id),
       p.host, p.user, p.recorded_utc
FROM records r
LEFT JOIN workloads w ON w.id = r.workload_id
LEFT JOIN configs c ON c.id = r.config_id
LEFT JOIN devices d ON d.id = r.device_id
LEFT JOIN environments e ON e.id = r.environment_id
LEFT JOIN provenance p ON p.record_id = r.id
)sql";

/// Of the first run when none is given: a record that two runs made is one row.
constexpr std::string_view kFirstTrial = R"sql(
LEFT JOIN trials t ON t.record_id = r.id AND (t.run_id, t.trial_index) =
  (SELECT f.run_id, f.trial_index FROM trials f WHERE f.record_id = r.id ORDER BY f.run_id, f.trial_index LIMIT 1)
LEFT JOIN runs u ON u.id = t.run_id
WHERE ?1 IS NULL
)sql";

constexpr std::string_view kTrialsOfRun = R"sql(
JOIN trials t ON t.record_id = r.id
LEFT JOIN runs u ON u.id = t.run_id
WHERE t.run_id = ?1
)sql";

constexpr std::string_view kVisible =
    "AND NOT EXISTS (SELECT 1 FROM retractions x WHERE x.record_key = r.content_key) ";

int small_integer(const Statement& row, int column) {
  const int64_t value = row.integer(column);
  if (value < 0 || value > std::numeric_limits<int>::max()) throw UsageError("a number out of range");
  return static_cast<int>(value);
}

}  // namespace

RecordQuery::RecordQuery(const Connection& connection, std::string_view condition, std::optional<int64_t> run_id,
                         Retracted retracted)
    : rows_(connection, fmt::format("{}{}{}AND {}", kSelect, run_id ? kTrialsOfRun : kFirstTrial,
                                    retracted == Retracted::hidden ? kVisible : "", condition)),
      samples_(connection, "SELECT is_warm, us FROM samples WHERE record_id = ? ORDER BY is_warm, position") {
  if (run_id) rows_.bind(1, *run_id);
}

std::optional<RecordRow> RecordQuery::next() {
  while (rows_.step()) {
    try {
      RecordRow found = row();
      const std::optional<std::string> why = why_invalid(found);
      if (!why) return found;
      ++damaged_[*why];
    } catch (const UsageError& error) {  // an unknown name, a number out of range
      ++damaged_[error.what()];
    }
  }
  return std::nullopt;
}

/// The columns as they stand.
RecordRow RecordQuery::row() {
  RecordRow found;
  Record& record = found.record;
  record.content_key = rows_.text(1);
  record.workload_key = rows_.text(2);
  record.workload_json = rows_.text(3);
  record.config_json = rows_.text(4);
  record.device_name = rows_.text(5);
  record.arch = rows_.text(6);
  record.target_key = rows_.text(7);
  record.target_json = rows_.text(8);
  record.environment = rows_.text(9);
  record.evidence = evidence_from_name(rows_.text(10));
  record.outcome.kind = outcome_kind_from_name(rows_.text(11));
  record.outcome.message = rows_.text(12);
  record.outcome.log = rows_.text(13);
  record.outcome.limited_by = rows_.text(14);
  record.objective = rows_.text(15);
  if (const std::string conditions = rows_.text(16); !conditions.empty())
    record.conditions = try_parse_json(conditions);
  record.source_hash = rows_.text(17);
  record.ptx_hash = rows_.text(18);
  record.cubin_hash = rows_.text(19);
  record.registers = small_integer(rows_, 20);
  record.spill_bytes = small_integer(rows_, 21);
  record.smem_bytes = rows_.integer(22);
  record.compile_seconds = rows_.real(23);
  record.verify_seconds = rows_.real(24);
  record.run_seconds = rows_.real(25);
  record.run_id = rows_.integer(26);
  record.run_uid = rows_.text(27);
  record.trial_index = rows_.integer(28);
  record.is_default = rows_.integer(29) != 0;
  found.host = rows_.text(30);
  found.user = rows_.text(31);
  found.recorded_utc = rows_.text(32);
  samples_.reset();
  samples_.bind(1, rows_.integer(0));
  while (samples_.step()) {
    (samples_.integer(0) != 0 ? record.warm_samples_us : record.outcome.samples_us).push_back(samples_.real(1));
  }
  return found;
}

}  // namespace warpwright
