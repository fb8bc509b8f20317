// SHA-256 by OpenSSL.
#include "src/core/hash.h"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <vector>

#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    demand(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::span<const std::byte> bytes) {
    demand(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    demand(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(size_t{2} * length);
    for (unsigned int i = 0; i < length; ++i) {
      text += kDigits[digest[i] >> 4];
      text += kDigits[digest[i] & 15];
    }
    return text;
  }

 private:
  static void demand(bool done) {
    if (!done) throw InternalError("SHA-256 failed");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::vector<std::byte> piece(size_t{1} << 20);
  Sha256 hash;
  int64_t got = file.read(0, piece);
  for (int64_t offset = 0; got > 0; got = file.read(offset, piece)) {
    hash.add(std::span(piece).first(static_cast<size_t>(got)));
    offset += got;
  }
  return hash.hex();
}

std::string sha256_hex(std::string_view bytes) { return sha256_hex(std::as_bytes(std::span(bytes))); }

std::string key_hex(std::string_view bytes) { return sha256_hex(bytes).substr(0, 32); }

}  // namespace warpwright
