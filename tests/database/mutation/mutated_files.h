// Databases and exports with something changed in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpwright {

/// Bytes of a small database with `flips`, cuts, moved pages, counters out of range and the like; the same for the same
/// seed.
std::string mutated_database(const std::string& whole, uint64_t seed);
/// Text of an export with tokens, digits, lines changed, doubled, cut or swapped.
std::string mutated_lines(const std::string& whole, uint64_t seed);

}  // namespace warpwright
