// Supervisor: mutants in child processes, so that a crash, a hang or too much memory is a finding and not an end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/harness/subject.h"

namespace warpwright::testing {

struct Bounds {
  double cpu_seconds = 10;             // of one input
  double wall_seconds = 120;           // of one input: it waits for something
  int64_t bytes = int64_t{256} << 20;  // held at once while one input is read
};

struct FuzzOptions {
  uint64_t seed = 1;
  int64_t first = 0, count = 0;
  int jobs = 1;
  Bounds bounds;
  std::filesystem::path failures;  // inputs that failed are kept here; none when empty
  std::filesystem::path state;     // goes on with the run in this file, if it exists, and keeps it; none when empty
};

/// Indices from the first up to and without the second.
using Range = std::pair<int64_t, int64_t>;

struct Finding {
  int64_t index = 0;
  std::string verdict;  // `crash`, `hang`, `memory`, `exception`
  std::string message;
};

struct FuzzReport {
  int64_t taken = 0, refused = 0;
  std::vector<Finding> findings;  // by index
  std::vector<Range> left;        // not read
  double cpu_seconds = 0;         // of all children
  double slowest_seconds = 0;     // of CPU
  int64_t slowest_index = -1;
  int64_t most_bytes = 0;
  int64_t most_bytes_index = -1;
  int64_t inputs() const { return taken + refused + static_cast<int64_t>(findings.size()); }
};

/// The seed of one mutant.
uint64_t mutant_seed(uint64_t seed, int64_t index);

/// Reads the mutants [first, first + count), or with a state those that it leaves. A mutant depends on the seed and its
/// index alone.
FuzzReport fuzz(const Subject& subject, const FuzzOptions& options);

/// Reads these files under the same bounds; `Finding::index` counts them.
FuzzReport read_files(const Subject& subject, const std::vector<std::filesystem::path>& files, const Bounds& bounds);

}  // namespace warpwright::testing
