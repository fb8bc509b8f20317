// Mutation of packages: of their rows, signed again so that the reader goes on behind the digest, and of their bytes.
#pragma once

#include <filesystem>

#include "tests/search_space/random/draw.h"

namespace warpwright::testing {

/// Changes values of the package at `path`: integers, texts, parts of JSON, blobs with their hashes, whole rows.
void mutate_rows(const std::filesystem::path& path, Draw& draw);

}  // namespace warpwright::testing
