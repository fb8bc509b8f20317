// All rows of a database, in the order of their keys: what merge, migration and export go through.
#pragma once

#include <functional>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

struct DamagedRow {
  std::string kind, why;
};

/// In the order in which they may be inserted; marks are retractions and clearances.
enum class RowPart { runs, records, trials, marks };

using TakeRow = std::function<void(Row)>;
using TakeDamaged = std::function<void(const DamagedRow&)>;

/// Rows of any schema version that may stand in a database; retracted records and trials without their record are left
/// out. `damaged` hears of the others.
void read_rows(const Connection& connection, RowPart part, const TakeRow& take, const TakeDamaged& damaged);
/// All parts.
void read_rows(const Connection& connection, const TakeRow& take, const TakeDamaged& damaged);

}  // namespace warpwright
