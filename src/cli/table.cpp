// Printing of tables.
#include "src/cli/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "src/core/error.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

/// Columns of UTF-8 text on a terminal, taking one for each code point.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char letter) { return (letter & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> headers) : headers_(std::move(headers)) {
  for (std::string& header : headers_) {
    to_right_.push_back(header.starts_with('>'));
    if (to_right_.back()) header.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> row) {
  if (row.size() != headers_.size()) throw InternalError("a row of a table has the wrong number of cells");
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::vector<std::string> Table::lines() const {
  std::vector<size_t> widths;
  for (const std::string& header : headers_) widths.push_back(width(header));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  const auto line_of = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - width(row[i]), ' ');
      line += to_right_[i] ? gap + row[i] : row[i] + gap;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::vector<std::string> lines{line_of(headers_)};
  for (const auto& row : rows_) lines.push_back(line_of(row));
  return lines;
}

void Table::print() const {
  for (const std::string& line : lines()) fmt::print("{}\n", line);
}

std::string us_text(double us) { return us > 0 ? fmt::format("{:.2f}", us) : "-"; }

std::string gain_text(double default_us, double best_us) {
  return default_us > 0 && best_us > 0 ? fmt::format("{:.2f}x", default_us / best_us) : "-";
}

std::string short_list(const std::vector<std::string>& names) {
  constexpr size_t kMostLength = 44;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && text.size() + names[i].size() > kMostLength) return text + fmt::format(" +{}", names.size() - i);
    text += (i > 0 ? ", " : "") + names[i];
  }
  return text;
}

}  // namespace warpwright
