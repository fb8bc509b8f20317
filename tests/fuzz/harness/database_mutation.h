// Databases and exports with something changed in them.
#pragma once

#include <string>

#include "tests/search_space/random/draw.h"

namespace warpwright::testing {

/// Bytes of a small database with flips, cuts, moved pages, counters out of range and the like.
std::string mutated_database(const std::string& whole, Draw& draw);
/// Text of an export with tokens, digits, lines changed, doubled, cut or swapped.
std::string mutated_lines(const std::string& whole, Draw& draw);

}  // namespace warpwright::testing
