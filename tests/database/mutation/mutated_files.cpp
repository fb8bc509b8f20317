// Kinds of damage, drawn at random; several a file.
#include "tests/database/mutation/mutated_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>

namespace warpwright {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  char byte() { return static_cast<char>(random_() & 0xff); }

 private:
  std::mt19937_64 random_;
};

constexpr size_t kPageBytes = 4096;

/// Where SQLite's structure is: the file's header, the headers of pages with their cell pointers, or anywhere.
size_t draw_place(const std::string& file, Draw& draw) {
  switch (draw.below(4)) {
    case 0:
      return draw.below(std::min<size_t>(100, file.size()));
    case 1:
    case 2: {
      const size_t page = draw.below(file.size() / kPageBytes + 1);
      return std::min(file.size() - 1, page * kPageBytes + (page == 0 ? 100 : 0) + draw.below(48));
    }
    default:
      return draw.below(file.size());
  }
}

void damage_bytes(std::string& file, Draw& draw) {
  constexpr std::array<char, 6> kTelling = {'\0', '\x01', '\x7f', '\x80', '\xff', '\xfe'};
  const size_t at = draw_place(file, draw);
  const size_t count = std::min(file.size() - at, draw.below(4) + 1);
  for (size_t i = 0; i < count; ++i) {
    file[at + i] = draw.below(2) == 0 ? kTelling[draw.below(kTelling.size())] : draw.byte();
  }
}

void flip_bit(std::string& file, Draw& draw) { file[draw_place(file, draw)] ^= static_cast<char>(1 << draw.below(8)); }

void copy_page(std::string& file, Draw& draw) {
  const size_t pages = file.size() / kPageBytes;
  if (pages < 2) return;
  file.replace(draw.below(pages) * kPageBytes, kPageBytes, file.substr(draw.below(pages) * kPageBytes, kPageBytes));
}

void copy_stretch(std::string& file, Draw& draw) {
  const size_t count = std::min(file.size(), draw.below(200) + 1);
  const std::string stretch = file.substr(draw.below(file.size() - count + 1), count);
  file.replace(draw.below(file.size() - count + 1), count, stretch);
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
  const auto& [from, to] = kChanges[draw.below(kChanges.size())];
  size_t at = file.find(from, draw.below(file.size()));
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
  const size_t at = line.find(':', draw.below(line.size()));
  if (at == std::string::npos) return;
  const size_t end = std::min(line.find_first_of(",}]", at + 1), line.size());
  line.replace(at + 1, end - at - 1, kTokens[draw.below(kTokens.size())]);
}

void change_line(std::string& line, Draw& draw) {
  if (line.empty()) return;
  const size_t at = draw.below(line.size());
  switch (draw.below(6)) {
    case 0:
      line[at] = draw.byte();
      break;
    case 1:
      line.erase(at, draw.below(20) + 1);
      break;
    case 2:
      line.insert(at, line.substr(draw.below(line.size()), draw.below(60)));
      break;
    case 3:
      line.insert(at, std::string(draw.below(300), draw.below(2) == 0 ? '[' : '{'));
      break;
    default:
      change_token(line, draw);
  }
}

}  // namespace

std::string mutated_database(const std::string& whole, uint64_t seed) {
  Draw draw(seed);
  std::string file = whole;
  for (size_t left = draw.below(6) + 1; left > 0 && !file.empty(); --left) {
    switch (draw.below(12)) {
      case 0:
        file.resize(draw.below(file.size()) + 1);
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
        file.append(draw.below(3 * kPageBytes), draw.byte());
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

std::string mutated_lines(const std::string& whole, uint64_t seed) {
  Draw draw(seed);
  std::vector<std::string> lines = split(whole);
  for (size_t left = draw.below(6) + 1; left > 0; --left) {
    const size_t at = draw.below(lines.size());
    switch (draw.below(10)) {
      case 0:
        std::swap(lines[at], lines[draw.below(lines.size())]);
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), lines[draw.below(lines.size())]);
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
  if (draw.below(20) == 0) text.resize(draw.below(text.size()));
  return text;
}

}  // namespace warpwright
