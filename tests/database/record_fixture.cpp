// Records, run keys, and SQL past the interface.
#include "tests/database/record_fixture.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <stdexcept>

#include "src/core/hash.h"

namespace warpwright {

std::string workload_key(const std::string& name) { return "w1-" + key_hex(workload_json(name)); }

std::string workload_json(const std::string& name) { return Json{{"kind", name}}.dump(); }

Record make_record(int number, double us, const std::string& workload) {
  Record record;
  record.workload_key = workload_key(workload);
  record.workload_json = workload_json(workload);
  record.config_json = fmt::format(R"({{"family":"f","knobs":{{"n":{}}},"space_version":1}})", number);
  record.device_name = "virtual:rtx4090";
  record.target_key = "t1-rtx4090";
  record.target_json = R"({"name":"rtx4090"})";
  record.arch = "sm_89";
  record.environment = "virtual, NVRTC 13.0";
  record.outcome.kind = OutcomeKind::ok;
  record.outcome.samples_us = {us, us + 1, us + 2};
  record.outcome.limited_by = "issue";
  record.source_hash.assign(1, 's');
  record.registers = 64;
  return record;
}

Record failed_record(int number, OutcomeKind kind) {
  Record record = make_record(number);
  record.outcome = Outcome{kind, "did not go", "a log", {}, ""};
  return record;
}

RunKey make_run_key(uint64_t seed) { return RunKey{"digest", "virtual:rtx4090", seed, Json{{"trials", 10}}}; }

void execute_sql(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  sqlite3_open(path.c_str(), &handle);
  char* message = nullptr;
  const int status = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message);
  const std::string text = message ? message : "";
  sqlite3_free(message);
  sqlite3_close(handle);
  if (status != SQLITE_OK) throw std::runtime_error(text);
}

}  // namespace warpwright
