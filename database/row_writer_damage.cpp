// SQL by which sound rows take the place of damaged ones.
#include "database/content_key.h"
#include "database/record_query.h"
#include "database/row_writer.h"
#include "database/workload_form.h"

namespace warpwright {

bool RowWriter::holds_damaged(const std::string& content_key) const {
  RecordQuery query(*connection_, "r.content_key = ?2", std::nullopt, Retracted::shown);
  query.bind(2, content_key);
  return !query.next() && !query.damaged().empty();
}

/// Their keys are hashes of their content, so that the row of a key can only have this one.
void RowWriter::mend_references(const Record& record) {
  const WorkloadForm form = workload_form(record.workload_json);
  statement(
      "UPDATE workloads SET json = ?2, form = ?3, log2_size = ?4 "
      "WHERE key = ?1 AND (json, form, log2_size) IS NOT (?2, ?3, ?4)")
      .bind(1, record.workload_key)
      .bind(2, record.workload_json)
      .bind(3, form.key)
      .bind(4, form.log2_size)
      .run();
  statement("UPDATE configs SET json = ?2 WHERE key = ?1 AND json IS NOT ?2")
      .bind(1, config_key(record.config_json))
      .bind(2, record.config_json)
      .run();
  statement(
      "UPDATE devices SET name = ?2, arch = ?3, target_key = ?4, target_json = ?5 "
      "WHERE key = ?1 AND (name, arch, target_key, target_json) IS NOT (?2, ?3, ?4, ?5)")
      .bind(1, device_key(record))
      .bind(2, record.device_name)
      .bind(3, record.arch)
      .bind(4, record.target_key)
      .bind(5, record.target_json)
      .run();
  statement("UPDATE environments SET description = ?2 WHERE key = ?1 AND description IS NOT ?2")
      .bind(1, environment_key(record))
      .bind(2, record.environment)
      .run();
}

void RowWriter::remove_details(int64_t record_id) {
  for (const char* sql : {"DELETE FROM samples WHERE record_id = ?", "DELETE FROM provenance WHERE record_id = ?"}) {
    statement(sql).bind(1, record_id).run();
  }
}

void RowWriter::remove_orphans() {
  for (const char* sql : {
           "DELETE FROM samples WHERE record_id > (SELECT coalesce(max(id), 0) FROM records)",
           "DELETE FROM provenance WHERE record_id > (SELECT coalesce(max(id), 0) FROM records)",
           "DELETE FROM trials WHERE record_id > (SELECT coalesce(max(id), 0) FROM records)",
           "DELETE FROM trials WHERE run_id > (SELECT coalesce(max(id), 0) FROM runs)",
           "DELETE FROM defaults WHERE record_id > (SELECT coalesce(max(id), 0) FROM records) "
           "OR run_id > (SELECT coalesce(max(id), 0) FROM runs) "
           "OR workload_id > (SELECT coalesce(max(id), 0) FROM workloads)",
       }) {
    connection_->execute(sql);
  }
}

}  // namespace warpwright
