// Fields of each kind of row by name.
#include "database/row_json.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "database/content_key.h"
#include "src/core/error.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"

namespace warpwright {

Json measurement_json(const Record& record) {
  return {{"evidence", name(record.evidence)},         {"outcome", name(record.outcome.kind)},
          {"message", record.outcome.message},         {"samples_us", record.outcome.samples_us},
          {"warm_samples_us", record.warm_samples_us}, {"objective", record.objective},
          {"limited_by", record.outcome.limited_by},   {"conditions", record.conditions},
          {"source_hash", record.source_hash},         {"ptx_hash", record.ptx_hash},
          {"cubin_hash", record.cubin_hash},           {"registers", record.registers},
          {"spill_bytes", record.spill_bytes},         {"smem_bytes", record.smem_bytes},
          {"compile_seconds", record.compile_seconds}, {"verify_seconds", record.verify_seconds},
          {"run_seconds", record.run_seconds}};
}
namespace {

std::string line_of(const char* kind, Json content) { return Json{{kind, std::move(content)}}.dump(); }

int small_integer(const Json& json, const char* name) {
  const int64_t value = integer_field(json, name);
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw UsageError(fmt::format("the field `{}` is out of range", name));
  }
  return static_cast<int>(value);
}

bool flag(const Json& json, const char* name) {
  const Json& value = field(json, name);
  if (!value.is_boolean()) throw UsageError(fmt::format("the field `{}` is neither true nor false", name));
  return value.get<bool>();
}

std::vector<double> reals(const Json& json, const char* name) {
  const Json& list = field(json, name);
  if (!list.is_array()) throw UsageError(fmt::format("the field `{}` is no list", name));
  std::vector<double> values;
  for (const Json& value : list) values.push_back(real_value(value, name));
  return values;
}

Json json_of(const RunRow& run) {
  return {{"uid", run.uid},
          {"model_digest", run.key.model_digest},
          {"device", run.key.device_name},
          {"seed", std::to_string(run.key.seed)},
          {"limits", run.key.limits},
          {"started_utc", run.started_utc},
          {"heartbeat_utc", run.heartbeat_utc},
          {"ended_utc", run.ended_utc},
          {"end_reason", run.end_reason},
          {"summary", run.summary},
          {"model_name", run.model_name},
          {"arguments", run.arguments},
          {"host", run.host},
          {"user", run.user}};
}

RunRow run_of(const Json& json) {
  RunRow run;
  run.uid = text_field(json, "uid");
  run.key.model_digest = text_field(json, "model_digest");
  run.key.device_name = text_field(json, "device");
  const std::string seed = text_field(json, "seed");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), run.key.seed);
  if (error != std::errc() || end != seed.data() + seed.size()) throw UsageError("the field `seed` is no seed");
  run.key.limits = field(json, "limits");
  run.started_utc = text_field(json, "started_utc");
  run.heartbeat_utc = text_field(json, "heartbeat_utc");
  run.ended_utc = text_field(json, "ended_utc");
  run.end_reason = text_field(json, "end_reason");
  run.summary = field(json, "summary");
  run.model_name = text_field(json, "model_name");
  run.arguments = text_field(json, "arguments");
  run.host = text_field(json, "host");
  run.user = text_field(json, "user");
  return run;
}

Json json_of(const RecordRow& row) {
  const Record& record = row.record;
  Json json = measurement_json(record);
  json.update({{"key", record.content_key},
               {"workload", record.workload_key},
               {"config", parse_json(record.config_json)},
               {"device", device_key(record)},
               {"environment", environment_key(record)},
               {"log", record.outcome.log},
               {"host", row.host},
               {"user", row.user},
               {"recorded_utc", row.recorded_utc}});
  return json;
}

Json json_of(const TrialRow& trial) {
  return {{"run", trial.run_uid},
          {"index", trial.trial_index},
          {"record", trial.record_key},
          {"is_default", trial.is_default}};
}

TrialRow trial_of(const Json& json) {
  return {text_field(json, "run"), integer_field(json, "index"), text_field(json, "record"), flag(json, "is_default")};
}

Json json_of(const RetractionRow& row) { return {{"record", row.record_key}, {"reason", row.reason}}; }

RetractionRow retraction_of(const Json& json) { return {text_field(json, "record"), text_field(json, "reason")}; }

Json json_of(const ClearanceRow& row) { return {{"record", row.record_key}, {"verified_by", row.verified_by}}; }

ClearanceRow clearance_of(const Json& json) { return {text_field(json, "record"), text_field(json, "verified_by")}; }

Json json_of(const StoredDevice& device) {
  return {{"key", device.key},
          {"name", device.name},
          {"arch", device.arch},
          {"target_key", device.target_key},
          {"target", parse_json(device.target_json)}};
}

template <typename Map>
const auto& shared_part(const Map& parts, const char* kind, const std::string& key) {
  const auto found = parts.find(key);
  if (found == parts.end()) throw UsageError(fmt::format("names a {} that no line before it gives", kind));
  return found->second;
}

/// Nothing but what was read stands in the line.
void require_same(const Json& written, const Json& read) {
  if (written != read) throw UsageError("has a field that rows of its kind do not have");
}

}  // namespace

void RowLines::share(const char* kind, const std::string& key, Json content, std::vector<std::string>& lines) {
  if (shared_.emplace(std::string(kind) + key, true).second) lines.push_back(line_of(kind, std::move(content)));
}

std::vector<std::string> RowLines::lines_of(const Row& row) {
  std::vector<std::string> lines;
  if (const auto* of_record = std::get_if<RecordRow>(&row)) {
    const Record& record = of_record->record;
    const std::string environment = environment_key(record);
    const StoredDevice device{device_key(record), record.device_name, record.arch, record.target_key,
                              record.target_json};
    share("workload", record.workload_key, {{"key", record.workload_key}, {"json", parse_json(record.workload_json)}},
          lines);
    share("device", device.key, json_of(device), lines);
    share("environment", environment, {{"key", environment}, {"description", record.environment}}, lines);
  }
  const std::string kind(kind_of(row));
  lines.push_back(line_of(kind.c_str(), std::visit([](const auto& of_kind) { return json_of(of_kind); }, row)));
  return lines;
}

Record RowParser::record_of(const Json& json) const {
  Record record;
  record.content_key = text_field(json, "key");
  record.workload_key = text_field(json, "workload");
  record.workload_json = shared_part(workloads_, "workload", record.workload_key);
  record.config_json = field(json, "config").dump();
  const StoredDevice& device = shared_part(devices_, "device", text_field(json, "device"));
  record.device_name = device.name;
  record.arch = device.arch;
  record.target_key = device.target_key;
  record.target_json = device.target_json;
  record.environment = shared_part(environments_, "environment", text_field(json, "environment"));
  record.evidence = evidence_from_name(text_field(json, "evidence"));
  record.outcome.kind = outcome_kind_from_name(text_field(json, "outcome"));
  record.outcome.samples_us = reals(json, "samples_us");
  record.warm_samples_us = reals(json, "warm_samples_us");
  record.objective = text_field(json, "objective");
  record.outcome.limited_by = text_field(json, "limited_by");
  record.conditions = field(json, "conditions");
  record.source_hash = text_field(json, "source_hash");
  record.ptx_hash = text_field(json, "ptx_hash");
  record.cubin_hash = text_field(json, "cubin_hash");
  record.registers = small_integer(json, "registers");
  record.spill_bytes = small_integer(json, "spill_bytes");
  record.smem_bytes = integer_field(json, "smem_bytes");
  record.outcome.message = text_field(json, "message");
  record.outcome.log = text_field(json, "log");
  record.compile_seconds = real_field(json, "compile_seconds");
  record.verify_seconds = real_field(json, "verify_seconds");
  record.run_seconds = real_field(json, "run_seconds");
  return record;
}

std::optional<Row> RowParser::parse(const std::string& line) {
  const Json json = try_parse_json(line);
  if (!json.is_object() || json.size() != 1) throw UsageError("is no row");
  const std::string& kind = json.begin().key();
  const Json& content = json.begin().value();
  if (!content.is_object()) throw UsageError("is no row");
  if (kind == "workload") {
    workloads_.emplace(text_field(content, "key"), field(content, "json").dump());
    return std::nullopt;
  }
  if (kind == "environment") {
    environments_.emplace(text_field(content, "key"), text_field(content, "description"));
    return std::nullopt;
  }
  if (kind == "device") {
    const StoredDevice device{text_field(content, "key"), text_field(content, "name"), text_field(content, "arch"),
                              text_field(content, "target_key"), field(content, "target").dump()};
    require_same(json_of(device), content);
    devices_.emplace(device.key, device);
    return std::nullopt;
  }
  std::optional<Row> row;
  if (kind == "run") row = run_of(content);
  if (kind == "record") {
    row = RecordRow{record_of(content), text_field(content, "host"), text_field(content, "user"),
                    text_field(content, "recorded_utc")};
  }
  if (kind == "trial") row = trial_of(content);
  if (kind == "retraction") row = retraction_of(content);
  if (kind == "clearance") row = clearance_of(content);
  if (!row) throw UsageError(fmt::format("is of the unknown kind `{}`", kind.substr(0, 40)));
  if (const auto why = why_invalid(*row)) throw UsageError(*why);
  require_same(std::visit([](const auto& of_kind) { return json_of(of_kind); }, *row), content);
  return row;
}

}  // namespace warpwright
