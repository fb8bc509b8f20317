// Oracle: examples and their right outputs by Workload and seed, kept so that each is computed once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "src/reference/reference.h"

namespace warpwright {

struct OracleCase {
  Example example;
  Tensor expected;  // output buffer

  int64_t bytes() const;
};

class Oracle {
 public:
  /// Keeps the cases used last, at most `limit_bytes` of them (a case in use stays alive by its pointer). With a
  /// `folder`, which must exist, expected outputs are shared through it with other processes of the same program.
  explicit Oracle(int64_t limit_bytes, std::optional<std::filesystem::path> folder = std::nullopt);

  /// make_example(workload, seed) and what run_reference gives for it. May be called from several threads.
  std::shared_ptr<const OracleCase> get(const Workload& workload, uint64_t seed);

  /// How often run_reference ran, for tests and summaries.
  int64_t computed_count() const;

 private:
  using Identity = std::pair<std::string, uint64_t>;  // key of the Workload, seed
  struct Kept {
    std::shared_ptr<const OracleCase> oracle_case;
    std::list<Identity>::iterator use;
  };

  Tensor expected_output(const Workload& workload, uint64_t seed, const Example& example);
  void keep(const Identity& identity, std::shared_ptr<const OracleCase> oracle_case);

  const int64_t limit_bytes_;
  const std::optional<std::filesystem::path> folder_;
  mutable std::mutex mutex_;
  std::map<Identity, Kept> kept_;
  std::list<Identity> uses_;  // last used first
  int64_t kept_bytes_ = 0;
  int64_t computed_count_ = 0;
};

}  // namespace warpwright
