// Table: aligned columns of text on stdout.
#pragma once

#include <string>
#include <vector>

namespace warpwright {

class Table {
 public:
  /// A header that begins with `>` aligns its column to the right.
  explicit Table(std::vector<std::string> headers);
  void add(std::vector<std::string> row);
  std::vector<std::string> lines() const;
  void print() const;

 private:
  std::vector<std::string> headers_;
  std::vector<bool> to_right_;
  std::vector<std::vector<std::string>> rows_;
};

/// `12.3`, or `-` for 0 (unknown).
std::string us_text(double us);
/// `1.52x`, or `-` when one of them is unknown.
std::string gain_text(double default_us, double best_us);
/// Names one behind the other, cut where they grow long: `a, b +3`.
std::string short_list(const std::vector<std::string>& names);

}  // namespace warpwright
