// Space: the Configs of one family for one (Workload, Target): a lazy cross product of knobs under constraints.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "src/core/config.h"

namespace warpwright {

struct Knob {
  std::string name;
  std::vector<int64_t> values;  // in order, so that neighbours differ by one step
};

/// The point is legal, or the first constraint that it breaks, as a sentence with the numbers in it.
using LegalityCheck = std::function<std::optional<std::string>(const Config&)>;
/// False only for points that the LegalityCheck refuses too, by the values of the knobs in the space's order. Asked
/// first of every point that is drawn or walked over, so it is plain arithmetic, without text.
using QuickCheck = std::function<bool(std::span<const int64_t>)>;

class Space {
 public:
  Space(std::string family, int space_version, std::vector<Knob> knobs, LegalityCheck why_illegal,
        QuickCheck may_be_legal = nullptr);

  const std::string& family() const { return family_; }
  const std::vector<Knob>& knobs() const { return knobs_; }
  /// Points of the cross product, legal or not.
  int64_t point_count() const { return point_count_; }
  Config point(int64_t index) const;
  /// Unknown family, version, knob or value counts as illegal too.
  std::optional<std::string> why_illegal(const Config& config) const;
  /// What the QuickCheck says of a point of this space; true without one.
  bool may_be_legal(const Config& point) const;
  /// Legal Configs in index order, at most `limit`.
  std::vector<Config> enumerate(int64_t limit) const;
  /// The legal Config of least cost, the first of equals; nullopt when no point is legal. Looks at every point.
  std::optional<Config> cheapest(const std::function<double(const Config&)>& cost) const;
  /// Uniform over the legal points by rejection; nullopt when `tries` points in a row were illegal.
  std::optional<Config> sample(std::mt19937_64& random, int tries = 10000) const;
  /// Legal Configs that differ from `config` in one knob by one step.
  std::vector<Config> neighbours(const Config& config) const;

 private:
  /// A Config that moves from point to point.
  class Cursor;

  std::string family_;
  int space_version_;
  std::vector<Knob> knobs_;
  std::vector<size_t> by_name_;  // knobs in the order of Config::knobs
  int64_t point_count_ = 1;
  LegalityCheck why_illegal_;
  QuickCheck may_be_legal_;  // null: there is none
};

}  // namespace warpwright
