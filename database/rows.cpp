// Bounds and consistency of rows.
#include "database/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "database/content_key.h"
#include "src/core/hash.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr size_t kMostJsonBytes = 256 * 1024;
constexpr size_t kMostSamples = 4096;
constexpr double kMostSampleUs = 1e9, kMostSeconds = 1e7;
constexpr int64_t kMostTrialIndex = 1'000'000'000'000;

using Fault = std::optional<std::string>;

Fault text_fault(std::string_view field, const std::string& text, size_t most_bytes = kMostNameBytes) {
  if (text.size() > most_bytes) return fmt::format("{} has {} bytes, more than {}", field, text.size(), most_bytes);
  if (storable(text, most_bytes) != text) return fmt::format("{} is no UTF-8", field);
  return std::nullopt;
}

/// Texts that were found to be canonical objects: the records of a task share theirs, and each is looked at once.
class CanonicalTexts {
 public:
  bool contains(const std::string& text) const { return texts_.contains(text); }
  void add(const std::string& text) {
    if (text.size() > kMostBytes / 16) return;
    bytes_ += text.size();
    if (bytes_ > kMostBytes) {
      texts_.clear();
      bytes_ = text.size();
    }
    texts_.insert(text);
  }

 private:
  static constexpr size_t kMostBytes = 1 << 20;
  std::unordered_set<std::string> texts_;
  size_t bytes_ = 0;
};

/// Only one text a value: a hash of the text is then a hash of the value.
Fault json_fault(std::string_view field, const std::string& text, size_t most_bytes = kMostJsonBytes) {
  thread_local CanonicalTexts canonical;
  if (text.size() <= most_bytes && canonical.contains(text)) return std::nullopt;
  if (Fault fault = text_fault(field, text, most_bytes)) return fault;
  const Json json = try_parse_json(text);
  if (!json.is_object()) return fmt::format("{} is no JSON object", field);
  if (json.dump() != text) return fmt::format("{} is not written canonically", field);
  canonical.add(text);
  return std::nullopt;
}

Fault json_fault(std::string_view field, const Json& json, size_t most_bytes = kMostJsonBytes) {
  return json.is_null() ? std::nullopt
                        : json_fault(field, json.dump(-1, ' ', false, Json::error_handler_t::replace), most_bytes);
}

Fault samples_fault(std::string_view field, const std::vector<double>& samples) {
  if (samples.size() > kMostSamples) return fmt::format("{}: {} samples", field, samples.size());
  for (const double us : samples) {
    if (!std::isfinite(us) || us <= 0 || us > kMostSampleUs) return fmt::format("{}: {} is no time", field, us);
  }
  return std::nullopt;
}

/// The key of a Workload is a hash of its canonical text (src/core/workload.h); keys of another version are left alone.
Fault key_fault(const Record& record) {
  if (!record.workload_key.starts_with("w1-") || record.workload_key == "w1-" + key_hex(record.workload_json)) {
    return std::nullopt;
  }
  return "the workload is not that of its key";
}

Fault numbers_fault(const Record& record) {
  for (const double seconds : {record.compile_seconds, record.verify_seconds, record.run_seconds}) {
    if (!std::isfinite(seconds) || seconds < 0 || seconds > kMostSeconds) return "seconds spent out of range";
  }
  if (record.registers < 0 || record.registers > 1024) return "registers out of range";
  if (record.spill_bytes < 0 || record.smem_bytes < 0) return "bytes out of range";
  return std::nullopt;
}

template <typename... Faults>
Fault first(const Faults&... faults) {
  Fault found;
  (void)((found = faults, found.has_value()) || ...);
  return found;
}

Fault fault_of(const RunRow& run) {
  if (run.uid.empty()) return "a run without uid";
  return first(text_fault("uid", run.uid), text_fault("model_digest", run.key.model_digest),
               text_fault("device_name", run.key.device_name), json_fault("limits", run.key.limits),
               text_fault("started_utc", run.started_utc), text_fault("heartbeat_utc", run.heartbeat_utc),
               text_fault("ended_utc", run.ended_utc), text_fault("end_reason", run.end_reason),
               json_fault("summary", run.summary, kMostSummaryBytes), text_fault("model_name", run.model_name),
               text_fault("arguments", run.arguments), text_fault("host", run.host), text_fault("user", run.user));
}

Fault fault_of(const RecordRow& row) {
  if (Fault fault = why_invalid(row.record)) return fault;
  if (content_key(row.record) != row.record.content_key) return "its content is not that of its key";
  return first(text_fault("host", row.host), text_fault("user", row.user),
               text_fault("recorded_utc", row.recorded_utc));
}

Fault fault_of(const TrialRow& trial) {
  if (trial.trial_index < 0 || trial.trial_index > kMostTrialIndex) return "trial index out of range";
  return first(text_fault("run", trial.run_uid), text_fault("record", trial.record_key));
}

Fault fault_of(const RetractionRow& row) {
  return first(text_fault("record", row.record_key), text_fault("reason", row.reason));
}

Fault fault_of(const ClearanceRow& row) {
  return first(text_fault("record", row.record_key), text_fault("verified_by", row.verified_by));
}

}  // namespace

std::string_view kind_of(const Row& row) {
  constexpr std::string_view kKinds[] = {"run", "record", "trial", "retraction", "clearance"};
  return kKinds[row.index()];
}

Fault why_invalid(const Row& row) {
  return std::visit([](const auto& of_kind) { return fault_of(of_kind); }, row);
}

Fault why_invalid(const Record& record) {
  if (record.outcome.ok() == record.outcome.samples_us.empty()) {
    return "samples and outcome contradict each other";
  }
  if (!record.outcome.ok() && !record.warm_samples_us.empty()) return "samples and outcome contradict each other";
  return first(text_fault("workload key", record.workload_key), json_fault("workload", record.workload_json),
               key_fault(record), json_fault("config", record.config_json), text_fault("device", record.device_name),
               text_fault("arch", record.arch), text_fault("target key", record.target_key),
               json_fault("target", record.target_json), text_fault("environment", record.environment),
               text_fault("objective", record.objective), json_fault("conditions", record.conditions),
               text_fault("limited_by", record.outcome.limited_by),
               text_fault("message", record.outcome.message, kMostLogBytes),
               text_fault("log", record.outcome.log, kMostLogBytes), text_fault("source hash", record.source_hash),
               text_fault("ptx hash", record.ptx_hash), text_fault("cubin hash", record.cubin_hash),
               samples_fault("samples", record.outcome.samples_us),
               samples_fault("warm samples", record.warm_samples_us), numbers_fault(record));
}

std::string storable(std::string_view text, size_t most_bytes) {
  std::string whole(text.substr(0, most_bytes));
  if (std::all_of(whole.begin(), whole.end(), [](unsigned char letter) { return letter < 0x80; })) return whole;
  const std::string dumped = Json(whole).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string valid = Json::parse(dumped).get<std::string>();
  while (valid.size() > most_bytes) {  // a replacement is longer than what it replaces
    valid = storable(std::string_view(text).substr(0, most_bytes - (valid.size() - most_bytes)), most_bytes);
  }
  return valid;
}

}  // namespace warpwright
