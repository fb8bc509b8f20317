// Lazy cross product of knobs under constraints.
#include "search_space/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "src/core/error.h"

namespace warpwright {

/// Values are moved first; the Config follows when a full check wants it.
class Space::Cursor {
 public:
  explicit Cursor(const Space& space) : space_(&space), values_(space.knobs_.size()) {
    config_ = {space.family_, space.space_version_, {}};
    for (size_t knob : space.by_name_) {
      config_.knobs.emplace_hint(config_.knobs.end(), space.knobs_[knob].name, 0);
    }
  }

  void move_to(int64_t index) {
    for (size_t knob = values_.size(); knob-- > 0;) {
      const std::vector<int64_t>& choices = space_->knobs_[knob].values;
      const auto count = static_cast<int64_t>(choices.size());
      values_[knob] = choices[static_cast<size_t>(index % count)];
      index /= count;
    }
    is_behind_ = true;
  }

  /// To point floor(fraction * points / 2^64), digit by digit: divisions would cost more than most checks.
  void move_to_fraction(uint64_t fraction) {
    for (size_t knob = 0; knob < values_.size(); ++knob) {
      const std::vector<int64_t>& choices = space_->knobs_[knob].values;
      const auto digit = static_cast<unsigned __int128>(fraction) * choices.size();
      values_[knob] = choices[static_cast<size_t>(digit >> 64)];
      fraction = static_cast<uint64_t>(digit);
    }
    is_behind_ = true;
  }

  bool is_legal() {
    return (!space_->may_be_legal_ || space_->may_be_legal_(values_)) && !space_->why_illegal_(config());
  }

  const Config& config() {
    if (is_behind_) {
      auto slot = config_.knobs.begin();
      for (size_t knob : space_->by_name_) (slot++)->second = values_[knob];
      is_behind_ = false;
    }
    return config_;
  }

 private:
  const Space* space_;
  std::vector<int64_t> values_;
  Config config_;
  bool is_behind_ = true;
};

Space::Space(std::string family, int space_version, std::vector<Knob> knobs, LegalityCheck why_illegal,
             QuickCheck may_be_legal)
    : family_(std::move(family)),
      space_version_(space_version),
      knobs_(std::move(knobs)),
      why_illegal_(std::move(why_illegal)),
      may_be_legal_(std::move(may_be_legal)) {
  for (const Knob& knob : knobs_) {
    const auto count = static_cast<int64_t>(knob.values.size());
    if (count == 0) throw InternalError(fmt::format("space {}: knob {} has no values", family_, knob.name));
    if (point_count_ > std::numeric_limits<int64_t>::max() / count) {
      throw InternalError(fmt::format("space {}: more points than int64 counts", family_));
    }
    point_count_ *= count;
  }
  by_name_.resize(knobs_.size());
  std::iota(by_name_.begin(), by_name_.end(), size_t{0});
  std::sort(by_name_.begin(), by_name_.end(), [&](size_t a, size_t b) { return knobs_[a].name < knobs_[b].name; });
}

Config Space::point(int64_t index) const {
  if (index < 0 || index >= point_count_) {
    throw InternalError(fmt::format("space {}: point {} of {}", family_, index, point_count_));
  }
  Cursor cursor(*this);
  cursor.move_to(index);
  return cursor.config();
}

std::optional<std::string> Space::why_illegal(const Config& config) const {
  if (config.family != family_) return fmt::format("family is {}, not {}", config.family, family_);
  if (config.space_version != space_version_) {
    return fmt::format("space version {} of {} is not today's {}", config.space_version, family_, space_version_);
  }
  for (const Knob& knob : knobs_) {
    const auto found = config.knobs.find(knob.name);
    if (found == config.knobs.end()) return fmt::format("knob {} is absent", knob.name);
    if (std::find(knob.values.begin(), knob.values.end(), found->second) == knob.values.end()) {
      return fmt::format("knob {} = {} is none of {}", knob.name, found->second, fmt::join(knob.values, ", "));
    }
  }
  if (config.knobs.size() != knobs_.size()) {
    for (const auto& item : config.knobs) {
      const auto is_it = [&](const Knob& knob) { return knob.name == item.first; };
      if (std::none_of(knobs_.begin(), knobs_.end(), is_it)) {
        return fmt::format("family {} has no knob {}", family_, item.first);
      }
    }
  }
  return why_illegal_(config);
}

bool Space::may_be_legal(const Config& point) const {
  if (!may_be_legal_) return true;
  std::vector<int64_t> values;
  for (const Knob& knob : knobs_) values.push_back(point.at(knob.name));
  return may_be_legal_(values);
}

std::vector<Config> Space::enumerate(int64_t limit) const {
  std::vector<Config> legal;
  Cursor cursor(*this);
  for (int64_t index = 0; index < point_count_ && static_cast<int64_t>(legal.size()) < limit; ++index) {
    cursor.move_to(index);
    if (cursor.is_legal()) legal.push_back(cursor.config());
  }
  return legal;
}

std::optional<Config> Space::cheapest(const std::function<double(const Config&)>& cost) const {
  std::optional<Config> best;
  double least = 0;
  Cursor cursor(*this);
  for (int64_t index = 0; index < point_count_; ++index) {
    cursor.move_to(index);
    if (!cursor.is_legal()) continue;
    const double now = cost(cursor.config());
    if (!best || now < least) best = cursor.config(), least = now;
  }
  return best;
}

std::optional<Config> Space::sample(std::mt19937_64& random, int tries) const {
  // The raw generator, since std::uniform_int_distribution differs between standard libraries. A point's share is off
  // by points / 2^64 at most.
  Cursor cursor(*this);
  for (int attempt = 0; attempt < tries; ++attempt) {
    cursor.move_to_fraction(random());
    if (cursor.is_legal()) return cursor.config();
  }
  return std::nullopt;
}

std::vector<Config> Space::neighbours(const Config& config) const {
  std::vector<Config> legal;
  Config neighbour = config;
  for (const Knob& knob : knobs_) {
    int64_t& value = neighbour.knobs.at(knob.name);
    const int64_t own = value;
    const auto here = std::find(knob.values.begin(), knob.values.end(), own);
    if (here == knob.values.end()) continue;
    const auto at = here - knob.values.begin();
    for (const std::ptrdiff_t step : {-1, 1}) {
      const std::ptrdiff_t other = at + step;
      if (other < 0 || other >= static_cast<std::ptrdiff_t>(knob.values.size())) continue;
      value = knob.values[static_cast<size_t>(other)];
      if (may_be_legal(neighbour) && !why_illegal_(neighbour)) legal.push_back(neighbour);
    }
    value = own;
  }
  return legal;
}

}  // namespace warpwright
