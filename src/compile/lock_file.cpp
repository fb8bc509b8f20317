// Lock files in and out.
#include "src/compile/lock_file.h"

#include <fmt/core.h>

#include <set>
#include <sstream>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr const char* kSchema = "warpwright.lock/1";

Json to_json(const CodeHashes& hashes) {
  return {{"source", hashes.source}, {"ptx", hashes.ptx}, {"cubin", hashes.cubin}};
}

CodeHashes hashes_from_json(const Json& json) {
  return {json.at("source").get<std::string>(), json.at("ptx").get<std::string>(), json.at("cubin").get<std::string>()};
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
  if (!json.is_object() || json.value("schema", std::string()) != kSchema) {
    throw UsageError(fmt::format("no line of a lock file (schema {})", kSchema));
  }
  LockEntry entry;
  entry.workload = workload_from_json(json.at("workload"));
  if (key(entry.workload) != json.at("workload_key").get<std::string>()) {
    throw UsageError("workload and workload_key do not belong together");
  }
  entry.target_text = json.at("target").get<std::string>();
  entry.target_key = json.at("target_key").get<std::string>();
  entry.arch = json.at("arch").get<std::string>();
  entry.config = config_from_json(json.at("config"));
  entry.rung = rung_from_name(json.at("rung").get<std::string>());
  if (!json.at("evidence").is_null()) entry.evidence = evidence_from_name(json.at("evidence").get<std::string>());
  entry.measured_on = json.at("measured_on").get<std::string>();
  entry.environment = json.at("environment").get<std::string>();
  entry.record = json.value("record", std::string());
  entry.measured_workload = json.value("measured_workload", std::string());
  entry.why = json.value("why", std::string());
  entry.trials = json.at("trials").get<int64_t>();
  entry.default_us = json.at("default_us").get<double>();
  entry.best_us = json.at("best_us").get<double>();
  entry.code = hashes_from_json(json.at("code"));
  entry.measured = hashes_from_json(json.at("measured_code"));
  entry.compiler = json.at("compiler").get<std::string>();
  return entry;
}

}  // namespace

LockFile LockFile::read(const std::filesystem::path& path) {
  std::istringstream lines(read_file(path, int64_t{64} << 20));
  LockFile lock;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    const auto fail = [&](std::string_view why) {
      throw UsageError(fmt::format("{}:{}: {}", path.string(), number, why));
    };
    try {
      lock.add(entry_from_json(parse_json(line)));
    } catch (const UsageError& error) {
      fail(error.what());
    } catch (const InternalError& error) {
      fail(error.what());
    } catch (const Json::parse_error&) {
      fail("no JSON; a lock file has one JSON object a line");
    } catch (const Json::exception& error) {
      fail(error.what());
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
