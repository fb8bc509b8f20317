// Schema of the database file: how it is made, told from other files, and checked.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "database/database.h"
#include "database/sqlite.h"

namespace warpwright {

inline constexpr int64_t kDatabaseApplicationId = 0x57575244;  // `WWRD`
inline constexpr int64_t kSchemaVersion = 2;

/// SQL over r: records. A later record that still counts verified the Config of this one: its wrong result is cleared.
inline constexpr const char* kIsCleared =
    "EXISTS (SELECT 1 FROM clearances x JOIN records v ON v.content_key = x.verified_by WHERE x.record_key = "
    "r.content_key AND v.outcome = 'ok' AND NOT EXISTS (SELECT 1 FROM retractions y WHERE y.record_key = "
    "v.content_key))";

/// What the first bytes of a file say, before SQLite touches it.
struct FileHeader {
  bool exists = false;
  int64_t size_bytes = 0, stated_bytes = 0;  // stated: by the header
  bool is_sqlite = false;
  bool is_wal = false;          // was last written with a write-ahead log
  bool has_wal_beside = false;  // a non-empty -wal file lies beside it
  bool is_cut = false;          // has fewer pages than it says, and no journal beside it that would explain that
};
/// The size of the file that these first bytes of it state; 0 for those of no SQLite file.
int64_t stated_bytes(const std::array<char, 100>& header);
/// Throws UsageError for what is no regular file, EnvironmentError for a file that cannot be read.
FileHeader read_file_header(const std::filesystem::path& path);

/// Throws UsageError for a file that SQLite must not touch: of another format, or cut.
void refuse_foreign(const std::filesystem::path& path, const FileHeader& header);

/// The schema version of a file that is one of ours and laid out exactly as that version says: no table, index, view or
/// trigger more or less. Throws UsageError for anything else; changes nothing.
int64_t check_layout(const Connection& connection);

/// Makes the tables if the database is empty, then checks that it has today's layout. Any number of processes may do so
/// at once.
void create_if_empty(const Connection& connection);

}  // namespace warpwright
