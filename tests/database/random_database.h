// Random databases that overlap: the same few runs and records, with other logs, provenance and marks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace warpwright {

void write_random_database(const std::filesystem::path& path, uint64_t seed);

/// Its export: the same text for databases that hold the same.
std::string canonical_text(const std::filesystem::path& path);

}  // namespace warpwright
