// Lock file: the chosen kernels as JSON lines, one a kernel, sorted and self-contained: a build from it needs no
// database and, with the same tools, gives the same package.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "src/compile/best_history.h"
#include "src/core/workload.h"

namespace warpwright {

struct LockEntry {
  Workload workload;
  std::string target_text;  // what --target takes: `rtx4090`, `virtual:rtx4090`
  std::string target_key, arch;
  Config config;
  Rung rung = Rung::default_config;
  std::optional<Evidence> evidence;
  std::string measured_on, environment, measured_workload, why;  // as in Choice
  std::string record;                                            // content key of the record; empty where there is none
  int64_t trials = 0;
  double default_us = 0, best_us = 0;
  CodeHashes code;       // as built
  CodeHashes measured;   // as measured
  std::string compiler;  // `NVRTC 13.0`
};

class LockFile {
 public:
  LockFile() = default;
  /// Throws UsageError that names the line.
  static LockFile read(const std::filesystem::path& path);
  void write(const std::filesystem::path& path) const;

  void add(LockEntry entry);
  const LockEntry* find(const std::string& workload_key) const;
  const std::map<std::string, LockEntry>& entries() const { return entries_; }
  /// The one target of its lines; throws UsageError when there is none or more than one.
  std::string target_text() const;

 private:
  std::map<std::string, LockEntry> entries_;  // by workload key
};

/// True for a file whose first line is that of a lock file, of whatever version.
bool is_lock_file(const std::filesystem::path& path);

}  // namespace warpwright
