// Database: records of trials in SQLite; stores Configs as text and judges none.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/core/json.h"
#include "src/core/outcome.h"

namespace warpwright {

/// What came of one Config on one device. Everything that a build or a later run needs to know.
struct Record {
  std::string workload_key, workload_json;
  std::string config_json;  // canonical text of the Config
  std::string device_name;  // `NVIDIA GeForce RTX 4090` or `virtual:rtx4090`
  std::string target_key, target_json;
  std::string arch;  // `sm_89`
  Evidence evidence = Evidence::virtual_device;
  std::string environment;  // driver and compiler
  Outcome outcome;
  std::string objective = "median_cold_l2_us";
  std::string source_hash, ptx_hash, cubin_hash;
  int registers = 0, spill_bytes = 0;
  int64_t smem_bytes = 0;
  double compile_seconds = 0, verify_seconds = 0, run_seconds = 0;
  int64_t run_id = 0;       // 0 when of no run of this file
  int64_t trial_index = 0;  // order within the run, the default of a task first
  bool is_default = false;
  std::string content_key;  // filled by the database
};

struct RunKey {
  std::string model_digest, device_name;
  uint64_t seed = 0;
  Json limits;  // trials, time, patience, task filters: part of the identity
};

struct RunInfo {
  int64_t id = 0;
  RunKey key;
  std::string model_name, started_utc, heartbeat_utc, ended_utc, end_reason;
  int64_t trials_done = 0;
};

struct Statistics {
  int64_t workloads = 0, records = 0, ok = 0, runs = 0;
  std::map<std::string, int64_t> by_outcome, by_device;
};

class Database {
 public:
  virtual ~Database() = default;

  // Reading
  virtual std::vector<Record> records(const std::string& workload_key) const = 0;
  /// Fastest ok records first, by median of samples; at most `limit`.
  virtual std::vector<Record> best(const std::string& workload_key, const std::string& arch, int limit) const = 0;
  virtual std::vector<std::string> workload_keys() const = 0;
  virtual std::string workload_json(const std::string& workload_key) const = 0;
  /// All records, newest first, at most `limit`; filters are empty for all.
  virtual std::vector<Record> list(const std::string& workload_key, const std::string& outcome, int limit) const = 0;
  /// By a content key or a unique prefix of it.
  virtual std::optional<Record> find(const std::string& content_key_prefix) const = 0;
  /// What a run of this file recorded, in the order of its trials.
  virtual std::vector<Record> run_records(int64_t run_id) const = 0;
  virtual Statistics statistics() const = 0;
  virtual std::vector<RunInfo> runs() const = 0;

  // Writing; throws EnvironmentError when the file cannot take it (full disk, read-only).
  /// The run of that key, made if there is none.
  virtual RunInfo begin_run(const RunKey& key, const std::string& model_name) = 0;
  virtual void end_run(int64_t run_id, const std::string& reason) = 0;
  /// One committed transaction; heartbeat of the run with it. Returns the content key.
  virtual std::string add(const Record& record) = 0;
  /// The record of that content key counts no more, in any file that this one is read or merged with.
  virtual void retract(const std::string& content_key, const std::string& reason) = 0;
  /// Checkpoint and leave WAL, so that a copied file is whole.
  virtual void close() = 0;
};

enum class OpenMode { read_only, read_write };
/// read_only: the file must exist. read_write: made if missing. Throws UsageError for a file that is something else, or
/// newer than this program; EnvironmentError for a folder that cannot be written.
std::unique_ptr<Database> open_database(const std::filesystem::path& path, OpenMode mode);
/// All files read as if merged; duplicates (equal content keys) once. With read_write the first is written; the others
/// are only read. Runs of files other than the first have id 0.
std::unique_ptr<Database> open_databases(const std::vector<std::filesystem::path>& paths,
                                         OpenMode mode_of_first = OpenMode::read_only);

}  // namespace warpwright
