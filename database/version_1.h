// Schema version 1: its tables, and its rows as those of today.
#pragma once

#include <functional>
#include <string>

#include "database/rows.h"
#include "database/sqlite.h"

namespace warpwright {

extern const char* const kVersion1Tables;

/// All rows of a database of version 1 but retracted records, valid or not. `damaged` hears why a record cannot even be
/// taken for one.
void read_version_1(const Connection& connection, const std::function<void(Row)>& take,
                    const std::function<void(const std::string& why)>& damaged);

}  // namespace warpwright
