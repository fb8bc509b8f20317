// What is wrong with a database file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "database/database.h"

namespace warpwright {

struct CheckReport {
  int64_t schema_version = 0, records = 0, retractions = 0, clearances = 0;
  std::map<std::string, int64_t> faults;  // what, and how often
};

/// Reads the whole file: SQLite's own check of its pages, rows that refer to nothing, rows that cannot be what was
/// written, columns that do not follow from the others. `visit` sees every record that is sound in itself. Throws
/// UsageError for a file that cannot be read as a database of this program at all.
CheckReport check_database(const std::filesystem::path& path, const std::function<void(const Record&)>& visit);

}  // namespace warpwright
