// Schema version 1: its tables, and its rows as those of today.
#pragma once

#include "database/row_reader.h"
#include "database/sqlite.h"

namespace warpwright {

extern const char* const kVersion1Tables;

/// Rows of a database of version 1 but retracted records, valid or not. `damaged` hears of records that cannot even be
/// taken for one.
void read_version_1(const Connection& connection, RowPart part, const TakeRow& take, const TakeDamaged& damaged);

}  // namespace warpwright
