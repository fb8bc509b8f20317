// What the file system under a database allows.
#pragma once

#include <cstdint>
#include <filesystem>

namespace warpwright {

/// Whether a statfs magic number stands for a local disk, where a write-ahead log (shared memory, POSIX locks) is
/// sound. nfs, cifs, 9p, fuse, drvfs and their like are not.
bool is_local_file_system(uint64_t magic);

/// The same for the file system that holds `path` or, when it is missing, its folder.
bool is_on_local_file_system(const std::filesystem::path& path);

}  // namespace warpwright
