// Kinds of damage, drawn at random; several a file.
#include "tests/fuzz/harness/database_mutation.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace warpwright::testing {
namespace {

size_t below(Draw& draw, size_t bound) {
  return bound == 0 ? 0 : static_cast<size_t>(draw.between(0, static_cast<int64_t>(bound) - 1));
}

char any_byte(Draw& draw) { return static_cast<char>(draw.between(0, 255)); }

constexpr size_t kPageBytes = 4096;

/// Where SQLite's structure is: the file's header, the headers of pages with their cell pointers, or anywhere.
size_t draw_place(const std::string& file, Draw& draw) {
  switch (below(draw, 4)) {
    case 0:
      return below(draw, std::min<size_t>(100, file.size()));
    case 1:
    case 2: {
      const size_t page = below(draw, file.size() / kPageBytes + 1);
      return std::min(file.size() - 1, page * kPageBytes + (page == 0 ? 100 : 0) + below(draw, 48));
    }
    default:
      return below(draw, file.size());
  }
}

void damage_bytes(std::string& file, Draw& draw) {
  constexpr std::array<char, 6> kTelling = {'\0', '\x01', '\x7f', '\x80', '\xff', '\xfe'};
  const size_t at = draw_place(file, draw);
  const size_t count = std::min(file.size() - at, below(draw, 4) + 1);
  for (size_t i = 0; i < count; ++i) {
    file[at + i] = below(draw, 2) == 0 ? kTelling[below(draw, kTelling.size())] : any_byte(draw);
  }
}

void flip_bit(std::string& file, Draw& draw) { file[draw_place(file, draw)] ^= static_cast<char>(1 << below(draw, 8)); }

void copy_page(std::string& file, Draw& draw) {
  const size_t pages = file.size() / kPageBytes;
  if (pages < 2) return;
  file.replace(below(draw, pages) * kPageBytes, kPageBytes, file.substr(below(draw, pages) * kPageBytes, kPageBytes));
}

void copy_stretch(std::string& file, Draw& draw) {
  const size_t count = std::min(file.size(), below(draw, 200) + 1);
  const std::string stretch = file.substr(below(draw, file.size() - count + 1), count);
  file.replace(below(draw, file.size() - count + 1), count, stretch);
}

/// Text that the schema or a row may hold, by other text of the same length.
void change_text(std::string& file, Draw& draw) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kChanges = {{{"TABLE", "VIEW "},
                                                                            {"INDEX", "TABLE"},
                                                                            {"UNIQUE", "CHECK "},
                                                                            {"INTEGER", "BLOB   "},
                                                                            {"WITHOUT ROWID", "             "},
                                                                            {"records", "recordz"},
                                                                            {"\"knobs\"", "{{{{{{{"},
                                                                            {"us", "\xff\xfe"}}};
  const auto& [from, to] = kChanges[below(draw, kChanges.size())];
  size_t at = file.find(from, below(draw, file.size()));
  if (at == std::string::npos) at = file.find(from);
  if (at != std::string::npos) file.replace(at, std::char_traits<char>::length(from), to);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void change_token(std::string& line, Draw& draw) {
  constexpr std::array<const char*, 16> kTokens = {
      "null", "-1",       "1e308",      "1e-320", "18446744073709551615", "-9223372036854775808",
      "\"\"", "[]",       "{}",         "true",   "\"\\ud800\"",          "\"\\u0000\"",
      "0.1",  "[[[[[[[[", "4294967296", "1e999"};
  const size_t at = line.find(':', below(draw, line.size()));
  if (at == std::string::npos) return;
  const size_t end = std::min(line.find_first_of(",}]", at + 1), line.size());
  line.replace(at + 1, end - at - 1, kTokens[below(draw, kTokens.size())]);
}

void change_line(std::string& line, Draw& draw) {
  if (line.empty()) return;
  const size_t at = below(draw, line.size());
  switch (below(draw, 6)) {
    case 0:
      line[at] = any_byte(draw);
      break;
    case 1:
      line.erase(at, below(draw, 20) + 1);
      break;
    case 2:
      line.insert(at, line.substr(below(draw, line.size()), below(draw, 60)));
      break;
    case 3:
      line.insert(at, std::string(below(draw, 300), below(draw, 2) == 0 ? '[' : '{'));
      break;
    default:
      change_token(line, draw);
  }
}

}  // namespace

std::string mutated_database(const std::string& whole, Draw& draw) {
  std::string file = whole;
  for (size_t left = below(draw, 6) + 1; left > 0 && !file.empty(); --left) {
    switch (below(draw, 12)) {
      case 0:
        file.resize(below(draw, file.size()) + 1);
        break;
      case 1:
        copy_page(file, draw);
        break;
      case 2:
        copy_stretch(file, draw);
        break;
      case 3:
        change_text(file, draw);
        break;
      case 4:
        file.append(below(draw, 3 * kPageBytes), any_byte(draw));
        break;
      case 5:
      case 6:
        flip_bit(file, draw);
        break;
      default:
        damage_bytes(file, draw);
    }
  }
  return file;
}

std::string mutated_lines(const std::string& whole, Draw& draw) {
  std::vector<std::string> lines = split(whole);
  for (size_t left = below(draw, 6) + 1; left > 0; --left) {
    const size_t at = below(draw, lines.size());
    switch (below(draw, 10)) {
      case 0:
        std::swap(lines[at], lines[below(draw, lines.size())]);
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), lines[below(draw, lines.size())]);
        break;
      case 2:
        if (lines.size() > 1) lines.erase(lines.begin() + static_cast<ptrdiff_t>(at));
        break;
      default:
        change_line(lines[at], draw);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  if (below(draw, 20) == 0) text.resize(below(draw, text.size()));
  return text;
}

}  // namespace warpwright::testing
