// Words, numbers and marks of PTX text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/error.h"

namespace warpwright::ptx {

struct Token {
  enum class Kind : uint8_t { word, integer, float_bits, text, mark, end };
  Kind kind = Kind::end;
  std::string_view text;  // a word with its dots (`ld.global.u32`, `%tid.x`), or the mark
  uint64_t value = 0;     // integers, and the bits of an f32
  int line = 0;
  bool is(std::string_view expected) const { return (kind == Kind::word || kind == Kind::mark) && text == expected; }
};

/// The tokens point into `text`; the last one is `end`. Throws UsageError with the line.
std::vector<Token> tokenize(std::string_view text);

/// Reads tokens one after the other.
class TokenStream {
 public:
  explicit TokenStream(const std::vector<Token>& tokens) : tokens_(tokens) {}

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next();
  bool accept(std::string_view mark);  // takes the token if it is this one
  void expect(std::string_view mark);  // UsageError if it is another
  std::string_view word(const char* what);
  int64_t integer(const char* what, int64_t least, int64_t most);
  int line() const { return peek().line; }

 private:
  const std::vector<Token>& tokens_;
  size_t at_ = 0;
};

/// UsageError `virtual device: PTX line N: MESSAGE`.
[[noreturn]] void fail_at(int line, const std::string& message);

}  // namespace warpwright::ptx
