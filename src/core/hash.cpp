// SHA-256 by OpenSSL.
#include "src/core/hash.h"

#include <openssl/evp.h>

#include <array>

#include "src/core/error.h"

namespace warpwright {

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw InternalError("SHA-256 failed");
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size_t{2} * length);
  for (unsigned int i = 0; i < length; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) { return sha256_hex(std::as_bytes(std::span(bytes))); }

std::string key_hex(std::string_view bytes) { return sha256_hex(bytes).substr(0, 32); }

}  // namespace warpwright
