// Content hashes: SHA-256, shortened to 128 bits where it serves as a key.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace warpwright {

/// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);
std::string sha256_hex(std::span<const std::byte> bytes);
/// Of a whole file, read piece by piece. Throws UsageError that names the path.
std::string sha256_of_file(const std::filesystem::path& path);
/// The first 32 hexadecimal digits of sha256_hex: the form used in keys.
std::string key_hex(std::string_view bytes);

}  // namespace warpwright
