// Reads declarations of variables.
#include "src/device/virtual/ptx_declaration.h"

#include <fmt/format.h>

#include <cstring>

namespace warpwright::ptx {
namespace {

// Elements in braces, flattened; `-` may stand before a number.
void read_values(TokenStream& in, size_t element_bytes, std::vector<std::byte>& to, size_t& at, int depth) {
  if (depth > 8) fail_at(in.line(), "an initialiser nested too deep");
  if (in.accept("{")) {
    if (in.accept("}")) return;
    do {
      read_values(in, element_bytes, to, at, depth + 1);
    } while (in.accept(","));
    in.expect("}");
    return;
  }
  const bool negative = in.accept("-");
  const Token& token = in.next();
  if (token.kind != Token::Kind::integer && token.kind != Token::Kind::float_bits) {
    fail_at(token.line, fmt::format("an initialiser with '{}' is not supported yet", token.text));
  }
  if (at + element_bytes > to.size()) fail_at(token.line, "more initial values than the variable holds");
  const uint64_t value = negative ? uint64_t{0} - token.value : token.value;
  std::memcpy(to.data() + at, &value, element_bytes);
  at += element_bytes;
}

}  // namespace

uint32_t align_up(uint32_t value, uint32_t alignment) { return (value + alignment - 1) / alignment * alignment; }

Type read_type(TokenStream& in) {
  const int line = in.line();
  const std::string_view word = in.word("a type");
  for (int i = static_cast<int>(Type::pred); i <= static_cast<int>(Type::f32); ++i) {
    if (word.size() > 1 && word[0] == '.' && word.substr(1) == name(static_cast<Type>(i))) return static_cast<Type>(i);
  }
  fail_at(line, fmt::format("the type '{}' is not supported yet", word));
}

Declaration read_declaration(TokenStream& in, uint32_t most_bytes) {
  Declaration out;
  uint32_t alignment = 0;
  if (in.accept(".align")) alignment = static_cast<uint32_t>(in.integer("an alignment", 1, 1024));
  if ((alignment & (alignment - 1)) != 0) fail_at(in.line(), "an alignment must be a power of two");
  out.type = read_type(in);
  const auto element = static_cast<uint32_t>(size_bytes(out.type));
  if (element == 0) fail_at(in.line(), "a variable cannot be a predicate");
  if (in.accept(".ptr")) {  // only what it points to; nothing to check
    while (in.peek().kind == Token::Kind::word && in.peek().text.starts_with('.')) {
      if (in.next().is(".align")) in.integer("an alignment", 1, 1 << 20);
    }
  }
  out.name = in.word("a name");
  uint64_t bytes = element;
  while (in.accept("[")) {
    out.is_array = true;
    if (in.accept("]")) {
      out.is_unsized = true;
      bytes = 0;
      continue;
    }
    bytes *= static_cast<uint64_t>(in.integer("an array size", 0, most_bytes));
    if (bytes > most_bytes) fail_at(in.line(), fmt::format("'{}' is larger than {} bytes", out.name, most_bytes));
    in.expect("]");
  }
  out.bytes = static_cast<uint32_t>(bytes);
  out.alignment = std::max(alignment, element);
  if (in.accept("=")) {
    out.contents.resize(out.bytes);
    size_t at = 0;
    read_values(in, element, out.contents, at, 0);
  }
  return out;
}

}  // namespace warpwright::ptx
