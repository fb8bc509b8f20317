// All rows of a database, in the order of their keys: what merge, migration and export go through.
#pragma once

#include <functional>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

struct DamagedRow {
  std::string kind, why;
};

/// Rows of any schema version that may stand in a database; retracted records and trials without their record are left
/// out. `damaged` hears of the others.
void read_rows(const Connection& connection, const std::function<void(Row)>& take,
               const std::function<void(const DamagedRow&)>& damaged);

}  // namespace warpwright
