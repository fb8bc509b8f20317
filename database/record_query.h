// Records out of the tables, one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

/// Whether a query shows records that are retracted.
enum class Retracted { hidden, shown };

/// Records that fulfil a condition. Rows that cannot be what was written are left out and
/// counted.
class RecordQuery {
 public:
  /// `condition`: SQL over r: records, d: devices, w: workloads, c: configs, t: the trial that made it, with parameters
  /// from ?2 on, and then ORDER BY and LIMIT. `run_id`: the run whose trials are meant; nullopt: the first of the file
  /// that made the record.
  RecordQuery(const Connection& connection, std::string_view condition, std::optional<int64_t> run_id = std::nullopt,
              Retracted retracted = Retracted::hidden);

  template <typename T>
  RecordQuery& bind(int index, const T& value) {
    rows_.bind(index, value);
    return *this;
  }

  std::optional<RecordRow> next();
  /// Rows left out so far, by reason.
  const std::map<std::string, int64_t>& damaged() const { return damaged_; }

 private:
  RecordRow row();

  Statement rows_, samples_;
  std::map<std::string, int64_t> damaged_;
};

}  // namespace warpwright
