// Cuts PTX text into tokens.
#include "src/device/virtual/ptx_lexer.h"

#include <fmt/format.h>

#include <charconv>

namespace warpwright::ptx {

void fail_at(int line, const std::string& message) {
  throw UsageError(fmt::format("virtual device: PTX line {}: {}", line, message));
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' || c == '.';
}
bool in_word(char c) { return starts_word(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (skip_blank()) tokens.push_back(next());
    tokens.push_back({Token::Kind::end, {}, 0, line_});
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  // Leaves at_ on the next token; false at the end of the text.
  bool skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        skip_comment();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (c == '\0' && at_ + 1 == text_.size()) {
        return false;  // NVRTC counts the closing zero
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_comment() {
    const int start = line_;
    at_ += 2;
    while (!(peek() == '*' && peek(1) == '/')) {
      if (at_ >= text_.size()) fail_at(start, "a comment without end");
      if (text_[at_] == '\n') ++line_;
      ++at_;
    }
    at_ += 2;
  }

  Token next() {
    const char c = peek();
    if (is_digit(c)) return number();
    if (c == '"') return quoted();
    const size_t start = at_;
    if (starts_word(c)) {
      while (in_word(peek()) || (peek() == ':' && peek(1) == ':' && in_word(peek(2)))) at_ += peek() == ':' ? 2 : 1;
      return {Token::Kind::word, text_.substr(start, at_ - start), 0, line_};
    }
    static constexpr std::string_view kMarks = ",;:{}[]()+-<>=!|@";
    if (kMarks.find(c) == std::string_view::npos) {
      fail_at(line_, fmt::format("unexpected character with code {}", static_cast<unsigned char>(c)));
    }
    ++at_;
    return {Token::Kind::mark, text_.substr(start, 1), 0, line_};
  }

  Token quoted() {
    const size_t start = at_++;
    while (peek() != '"') {
      if (at_ >= text_.size() || text_[at_] == '\n') fail_at(line_, "a string without end");
      ++at_;
    }
    ++at_;
    return {Token::Kind::text, text_.substr(start + 1, at_ - start - 2), 0, line_};
  }

  Token number() {
    const size_t start = at_;
    while (in_word(peek())) ++at_;
    std::string_view word = text_.substr(start, at_ - start);
    Token token{Token::Kind::integer, word, 0, line_};
    if (word.find('.') != std::string_view::npos) {  // a version; PTX writes floats as their bits
      token.kind = Token::Kind::text;
      return token;
    }
    const char form = word.size() > 1 && word[0] == '0' ? word[1] : '\0';
    if (form == 'd' || form == 'D') fail_at(line_, fmt::format("the f64 constant '{}' is not supported yet", word));
    int base = 10;
    if (form == 'f' || form == 'F') {
      if (word.size() != 10) fail_at(line_, fmt::format("'{}' is no f32 constant", word));
      token.kind = Token::Kind::float_bits;
      base = 16;
    } else {
      if (word.back() == 'U') word.remove_suffix(1);
      if (form == 'x' || form == 'X') base = 16;
      if (form == 'b' || form == 'B') base = 2;
      if (form != '\0' && base == 10) base = 8;
    }
    const size_t prefix = base == 16 || base == 2 ? 2 : 0;
    const char* last = word.data() + word.size();
    const char* first = word.data() + std::min(prefix, word.size());
    const auto [end, error] = std::from_chars(first, last, token.value, base);
    if (error != std::errc() || end != last) fail_at(line_, fmt::format("'{}' is no number", token.text));
    return token;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

const Token& TokenStream::next() {
  const Token& token = peek();
  if (at_ < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::accept(std::string_view mark) {
  if (!peek().is(mark)) return false;
  next();
  return true;
}

void TokenStream::expect(std::string_view mark) {
  if (!accept(mark)) fail_at(line(), fmt::format("'{}' expected, but there is '{}'", mark, peek().text));
}

std::string_view TokenStream::word(const char* what) {
  if (peek().kind != Token::Kind::word) fail_at(line(), fmt::format("{} expected, not '{}'", what, peek().text));
  return next().text;
}

int64_t TokenStream::integer(const char* what, int64_t least, int64_t most) {
  const Token& token = next();
  const auto value = static_cast<int64_t>(token.value);
  if (token.kind != Token::Kind::integer || value < least || value > most) {
    fail_at(token.line, fmt::format("{} must be a number from {} to {}, not '{}'", what, least, most, token.text));
  }
  return value;
}

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace warpwright::ptx
