// Space: the lazy cross product by itself.
#include "search_space/space.h"

#include <gtest/gtest.h>

#include <map>

#include "search_space/kernel_family.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

/// a in 1, 2, 4 and b in 10, 20; a = 4 with b = 20 is illegal.
Space small_space() {
  return Space("small", 3, {{"a", {1, 2, 4}}, {"b", {10, 20}}}, [](const Config& config) -> std::optional<std::string> {
    if (config.at("a") * config.at("b") > 70) return "a x b is more than 70";
    return std::nullopt;
  });
}

TEST(Space, EnumeratesLegalPointsInOrder) {
  const Space space = small_space();
  EXPECT_EQ(space.point_count(), 6);
  const std::vector<Config> all = space.enumerate(100);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].knobs, (std::map<std::string, int64_t>{{"a", 1}, {"b", 10}}));
  EXPECT_EQ(all[4].knobs, (std::map<std::string, int64_t>{{"a", 4}, {"b", 10}}));
  EXPECT_EQ(space.enumerate(2).size(), 2u);
  EXPECT_THROW(space.point(6), InternalError);
  EXPECT_THROW(space.point(-1), InternalError);
}

TEST(Space, SamplesUniformlyAndByItsSeedAlone) {
  const Space space = small_space();
  std::mt19937_64 one(9), two(9);
  std::map<std::string, int> counts;
  for (int draw = 0; draw < 5000; ++draw) {
    const Config config = space.sample(one).value();
    EXPECT_EQ(config, space.sample(two).value());
    EXPECT_EQ(space.why_illegal(config), std::nullopt);
    ++counts[key(config)];
  }
  ASSERT_EQ(counts.size(), 5u);
  for (const auto& [text, count] : counts) EXPECT_NEAR(count, 1000, 150) << text;
}

TEST(Space, SampleGivesUpWhereNothingIsLegal) {
  const Space space("none", 1, {{"a", {1, 2}}}, [](const Config&) { return std::optional<std::string>("never"); });
  std::mt19937_64 random(1);
  EXPECT_EQ(space.sample(random, 50), std::nullopt);
  EXPECT_TRUE(space.enumerate(10).empty());
}

TEST(Space, AsksTheQuickCheckFirstAndGivesTheSamePoints) {
  int quick = 0, full = 0;
  auto why_illegal = [&full](const Config& config) -> std::optional<std::string> {
    ++full;
    if (config.at("a") != config.at("b")) return "a and b differ";
    return std::nullopt;
  };
  auto may_be_legal = [&quick](std::span<const int64_t> values) {
    ++quick;
    return values[0] <= values[1];
  };
  std::vector<int64_t> steps;
  for (int64_t step = 1; step <= 20; ++step) steps.push_back(step);
  const std::vector<Knob> knobs = {{"b", steps}, {"a", steps}};  // not in the order of their names
  const Space plain("square", 1, knobs, why_illegal);
  const Space quicker("square", 1, knobs, why_illegal, may_be_legal);
  std::mt19937_64 one(4), two(4);
  const std::optional<Config> wanted = plain.sample(one);
  const int tries = full;
  full = 0;
  EXPECT_EQ(quicker.sample(two), wanted);
  EXPECT_EQ(quick, tries);  // one for each point that was drawn
  EXPECT_LT(full, tries);
  EXPECT_EQ(quicker.enumerate(100), plain.enumerate(100));
  EXPECT_EQ(quicker.enumerate(100).size(), 20u);
}

TEST(Space, NeighboursDifferByOneStepAndAreLegal) {
  const Space space = small_space();
  const Config middle{"small", 3, {{"a", 2}, {"b", 20}}};
  const std::vector<Config> neighbours = space.neighbours(middle);
  ASSERT_EQ(neighbours.size(), 2u);  // a = 4 would be illegal
  EXPECT_EQ(neighbours[0].at("a"), 1);
  EXPECT_EQ(neighbours[1].at("b"), 10);
}

TEST(Space, RefusesKnobsWithoutValuesAndTooManyPoints) {
  auto any = [](const Config&) { return std::optional<std::string>(); };
  EXPECT_THROW(Space("empty", 1, {{"a", {}}}, any), InternalError);
  std::vector<Knob> knobs;
  for (int i = 0; i < 70; ++i) knobs.push_back({std::string(static_cast<size_t>(i + 1), 'k'), {0, 1}});
  EXPECT_THROW(Space("huge", 1, knobs, any), InternalError);
}

TEST(KernelFamilies, HaveNamesOfTheirOwn) {
  std::map<std::string_view, int> names;
  for (const KernelFamily* family : kernel_families()) {
    ++names[family->name()];
    EXPECT_EQ(family_named(family->name()), family);
    EXPECT_GE(family->space_version(), 1);
  }
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
  EXPECT_EQ(family_named("abacus"), nullptr);
}

}  // namespace
}  // namespace warpwright
