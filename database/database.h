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
  std::string environment;              // driver and compiler
  Outcome outcome;                      // the log is cut to kMostLogBytes
  std::vector<double> warm_samples_us;  // with a warm L2, where they were taken; no ranking uses them
  std::string objective = "median_cold_l2_us";
  Json conditions;  // object: clocks, throttle reasons, temperature, as far as the driver tells; null: unknown
  std::string source_hash, ptx_hash, cubin_hash;
  int registers = 0, spill_bytes = 0;
  int64_t smem_bytes = 0;
  double compile_seconds = 0, verify_seconds = 0, run_seconds = 0;
  int64_t run_id = 0;       // 0 when of no run of this file
  std::string run_uid;      // of the run in every file that it was merged into; filled by the database
  int64_t trial_index = 0;  // order within the run; a trial that is tried again keeps its index
  bool is_default = false;  // of its task; what the times of its run are compared by
  std::string content_key;  // filled by the database
};

inline constexpr size_t kMostLogBytes = 64 * 1024;
/// Record::objective, what the samples are: of a trial, or of finalists measured in turn, one sample a round.
inline constexpr const char* kTrialObjective = "median_cold_l2_us";
inline constexpr const char* kFinalObjective = "interleaved_cold_l2_us";

struct RunKey {
  std::string model_digest;
  std::string device_name;  // of several devices: their names, sorted, joined by commas
  uint64_t seed = 0;
  Json limits;  // trials, time, patience, task filters: part of the identity
};

struct RunInfo {
  int64_t id = 0;
  std::string uid;
  RunKey key;
  std::string model_name, arguments, started_utc, heartbeat_utc, ended_utc, end_reason;
  Json summary;             // as `end_run` was given it; null while it runs and after a kill
  int64_t trials_done = 0;  // that need no repetition: without those of a transient outcome
};

struct Statistics {
  int64_t workloads = 0, records = 0, ok = 0, runs = 0;
  std::map<std::string, int64_t> by_outcome, by_device;
};

struct StoredDevice {
  std::string key, name, arch, target_key, target_json;
};

struct StoredWorkload {
  std::string key, json;
};

/// The ok records of one task on one device in one space version: what a look-up goes through from the fastest on.
struct RecordGroup {
  std::string workload_key;
  StoredDevice device;
  std::string space;  // family and space version: `mma_gemm/3`
};

/// Records one after the other, each read when it is asked for.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  virtual std::optional<Record> next() = 0;
  /// Rows that were left out so far because they are damaged, by reason.
  virtual std::map<std::string, int64_t> damaged() const = 0;
};

class Database {
 public:
  virtual ~Database() = default;

  // Look-up. Takes no longer in a large database than in a small one: everything is read by an index, and only as far
  // as the caller goes.
  /// The groups of a task; their number depends on devices and versions, not on records.
  virtual std::vector<RecordGroup> groups(const std::string& workload_key) const = 0;
  /// From the fastest median on. Streams must end before the database is closed.
  virtual std::unique_ptr<RecordStream> fastest(const RecordGroup& group) const = 0;
  /// How the records of a group came out: their number by outcome.
  virtual std::map<std::string, int64_t> outcomes(const RecordGroup& group) const = 0;
  /// All records of one Config of a task, on whatever device.
  virtual std::vector<Record> of_config(const std::string& workload_key, const std::string& config_json) const = 0;
  /// The ok records of a task's default in the run of that uid.
  virtual std::vector<Record> defaults(const std::string& workload_key, const std::string& run_uid) const = 0;
  /// Median over the samples of those; nullopt when there are none.
  virtual std::optional<double> default_us(const std::string& workload_key, const std::string& run_uid) const = 0;
  /// Keys of the records that say the Config gives wrong results on `arch` and that no verification has cleared. While
  /// there is one, the Config is quarantined.
  virtual std::vector<std::string> objections(const std::string& workload_key, const std::string& config_json,
                                              const std::string& arch) const = 0;
  /// Workloads of the same form (workload_form.h), nearest size first, without itself.
  virtual std::vector<StoredWorkload> near(const std::string& workload_json, int limit) const = 0;
  /// Records of a task on that device, failed ones too: the search effort behind a hit.
  virtual int64_t effort(const std::string& workload_key, const std::string& device_name) const = 0;

  // Reading
  virtual std::vector<Record> records(const std::string& workload_key) const = 0;
  /// Fastest ok records first, by median of samples; at most `limit`.
  virtual std::vector<Record> best(const std::string& workload_key, const std::string& arch, int limit) const = 0;
  virtual std::vector<std::string> workload_keys() const = 0;
  virtual std::string workload_json(const std::string& workload_key) const = 0;
  /// All records, newest first, at most `limit`; filters are empty for all, `workload_key` may be a beginning.
  virtual std::vector<Record> list(const std::string& workload_key, const std::string& outcome, int limit) const = 0;
  /// By a content key or a unique prefix of it.
  virtual std::optional<Record> find(const std::string& content_key_prefix) const = 0;
  /// What a run of this file recorded, in the order of its trials; transient outcomes that were tried again too.
  virtual std::vector<Record> run_records(int64_t run_id) const = 0;
  /// Records of a task that are retracted: no other function gives them.
  virtual std::vector<Record> retracted(const std::string& workload_key) const = 0;
  virtual bool is_retracted(const std::string& content_key) const = 0;
  virtual Statistics statistics() const = 0;
  virtual std::vector<RunInfo> runs() const = 0;

  // Writing; throws EnvironmentError when the file cannot take it (full disk, read-only), and when it is no longer the
  // file that was opened: deleted, replaced or cut by others, after saving what it held beside it.
  /// The run of that key, made if there is none.
  virtual RunInfo begin_run(const RunKey& key, const std::string& model_name, const std::string& arguments = "") = 0;
  virtual void end_run(int64_t run_id, const std::string& reason, const Json& summary = Json()) = 0;
  /// One committed transaction; heartbeat of the run with it. Returns the content key. A damaged record with
  /// this key gives way; one that is retracted stays so.
  virtual std::string add(const Record& record) = 0;
  /// The record of that content key counts no more, in any file that this one is read or merged with.
  virtual void retract(const std::string& content_key, const std::string& reason) = 0;
  /// The Config of the objection `record_key` was verified again by the ok record `verified_by`: the objection no
  /// longer counts.
  virtual void clear(const std::string& record_key, const std::string& verified_by) = 0;
  /// Checkpoint and leave WAL, so that a copied file is whole.
  virtual void close() = 0;
};

enum class OpenMode { read_only, read_write };
/// read_only: the file must exist; older schemas can be read. read_write: made if missing. Throws UsageError for a file
/// that is something else, newer than this program or not laid out as its version says; EnvironmentError for a folder
/// that cannot be written.
std::unique_ptr<Database> open_database(const std::filesystem::path& path, OpenMode mode);
/// All files read as if merged; duplicates (equal content keys) once. With read_write the first is written; the others
/// are only read. Runs of files other than the first have id 0.
std::unique_ptr<Database> open_databases(const std::vector<std::filesystem::path>& paths,
                                         OpenMode mode_of_first = OpenMode::read_only);

}  // namespace warpwright
