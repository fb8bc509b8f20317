// A long run on disk: what has come of it, and what is left to read.
#pragma once

#include <filesystem>
#include <string_view>

#include "tests/fuzz/harness/supervisor.h"

namespace warpwright::testing {

/// Replaces the file.
void write_state(const std::filesystem::path& path, std::string_view subject, uint64_t seed, const FuzzReport& report);
/// Throws UsageError unless the file holds a run over this subject with this seed.
FuzzReport read_state(const std::filesystem::path& path, std::string_view subject, uint64_t seed);

}  // namespace warpwright::testing
