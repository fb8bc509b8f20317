// Lock files in and out.
#include "src/compile/lock_file.h"

#include <fmt/core.h>

#include <set>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr const char* kSchema = "warpwright.lock/1";
constexpr size_t kMostLineBytes = size_t{4} << 20;
constexpr size_t kHashDigits = 64;

Json to_json(const CodeHashes& hashes) {
  return {{"source", hashes.source}, {"ptx", hashes.ptx}, {"cubin", hashes.cubin}};
}

std::string hash_field(const Json& json, const char* name) {
  std::string hash = text_field(json, name);
  if (hash.size() != kHashDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw UsageError(fmt::format("the field `{}` is no SHA-256 of {} hexadecimal digits", name, kHashDigits));
  }
  return hash;
}

CodeHashes hashes_from_json(const Json& json) {
  return {hash_field(json, "source"), hash_field(json, "ptx"), hash_field(json, "cubin")};
}

/// Of the field `name`; all empty where nothing was measured and that may be.
CodeHashes hashes_field(const Json& json, const char* name, bool may_be_empty) {
  const Json& hashes = field(json, name);
  if (may_be_empty && hashes == to_json(CodeHashes())) return {};
  try {
    return hashes_from_json(hashes);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("the field `{}`: {}", name, error.what()));
  }
}

double time_field(const Json& json, const char* name) {
  const double us = real_field(json, name);
  if (us < 0) throw UsageError(fmt::format("the field `{}` is negative", name));
  return us;
}

/// What came later than the first lock files.
std::string later_text_field(const Json& json, const char* name) {
  return json.contains(name) ? text_field(json, name) : std::string();
}

Json to_json(const std::string& workload_key, const LockEntry& entry) {
  return {{"schema", kSchema},
          {"workload_key", workload_key},
          {"workload", warpwright::to_json(entry.workload)},
          {"target", entry.target_text},
          {"target_key", entry.target_key},
          {"arch", entry.arch},
          {"config", warpwright::to_json(entry.config)},
          {"rung", std::string(name(entry.rung))},
          {"evidence", entry.evidence ? Json(std::string(name(*entry.evidence))) : Json()},
          {"measured_on", entry.measured_on},
          {"environment", entry.environment},
          {"record", entry.record},
          {"measured_workload", entry.measured_workload},
          {"why", entry.why},
          {"trials", entry.trials},
          {"default_us", entry.default_us},
          {"best_us", entry.best_us},
          {"code", to_json(entry.code)},
          {"measured_code", to_json(entry.measured)},
          {"compiler", entry.compiler}};
}

LockEntry entry_from_json(const Json& json) {
  if (!json.is_object() || json.value("schema", Json()) != kSchema) {
    throw UsageError(fmt::format("no line of a lock file (schema {})", kSchema));
  }
  LockEntry entry;
  entry.workload = workload_from_json(field(json, "workload"));
  if (key(entry.workload) != text_field(json, "workload_key")) {
    throw UsageError("workload and workload_key do not belong together");
  }
  entry.target_text = text_field(json, "target");
  entry.target_key = text_field(json, "target_key");
  entry.arch = text_field(json, "arch");
  entry.config = config_from_json(field(json, "config"));
  entry.rung = rung_from_name(text_field(json, "rung"));
  if (!field(json, "evidence").is_null()) entry.evidence = evidence_from_name(text_field(json, "evidence"));
  entry.measured_on = text_field(json, "measured_on");
  entry.environment = text_field(json, "environment");
  entry.record = later_text_field(json, "record");
  entry.measured_workload = later_text_field(json, "measured_workload");
  entry.why = later_text_field(json, "why");
  entry.trials = count_field(json, "trials");
  entry.default_us = time_field(json, "default_us");
  entry.best_us = time_field(json, "best_us");
  entry.code = hashes_field(json, "code", false);
  entry.measured = hashes_field(json, "measured_code", true);
  entry.compiler = text_field(json, "compiler");
  return entry;
}

}  // namespace

LockFile LockFile::read(const std::filesystem::path& path) {
  LineReader lines(path, kMostLineBytes);
  LockFile lock;
  std::string line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    try {
      const Json json = try_parse_json(line);
      if (json.is_discarded()) throw UsageError("no JSON, or cut; a lock file has one JSON object a line");
      lock.add(entry_from_json(json));
    } catch (const Error& error) {  // a Config that does not fit together is no broken program here
      throw UsageError(fmt::format("{}: {}", lines.place(), error.what()));
    }
  }
  if (lock.entries_.empty()) throw UsageError(path.string() + ": no line of a lock file in it");
  return lock;
}

void LockFile::write(const std::filesystem::path& path) const {
  std::string text;
  for (const auto& [workload_key, entry] : entries_) text += to_json(workload_key, entry).dump() + "\n";
  write_file(path, text);
}

bool is_lock_file(const std::filesystem::path& path) {
  const Json json = try_parse_json(first_line(path, kMostLineBytes));
  return json.is_object() && json.contains("schema") && json["schema"].is_string() &&
         json["schema"].get<std::string>().starts_with("warpwright.lock/");
}

void LockFile::add(LockEntry entry) {
  const std::string workload_key = key(entry.workload);
  if (!entries_.emplace(workload_key, std::move(entry)).second) {
    throw UsageError(fmt::format("workload {} stands twice in the lock file", workload_key));
  }
}

const LockEntry* LockFile::find(const std::string& workload_key) const {
  const auto found = entries_.find(workload_key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string LockFile::target_text() const {
  std::set<std::string> targets;
  for (const auto& [workload_key, entry] : entries_) targets.insert(entry.target_text);
  if (targets.size() != 1) throw UsageError("the lock file has lines for more than one target: name one with --target");
  return *targets.begin();
}

}  // namespace warpwright
