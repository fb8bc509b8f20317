// The file format of packages, shared by the writer and the reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/runtime/sqlite_file.h"

namespace warpwright {

inline constexpr int64_t kPackageApplicationId = 0x5757504B;  // `WWPK`
inline constexpr int64_t kPackageVersion = 1;

/// A table: its statement of creation and the order of its rows in the digest.
struct PackageTable {
  std::string name, create, order_by;
};
const std::vector<PackageTable>& package_tables();

/// SHA-256 over all rows of all tables but `digest`, in their canonical order. Bytes of blobs count by their hashes.
std::string package_digest(SqliteFile& file);

}  // namespace warpwright
