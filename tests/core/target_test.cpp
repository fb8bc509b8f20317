// Targets: presets, JSON round trip, every refusal names its field, the key.
#include "src/core/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/core/error.h"

namespace warpwright {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Json& json) {
  try {
    target_from_json(json);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TargetPresets, HoldTheNamedCards) {
  const std::set<std::string> expected = {"rtx4090", "rtx4080", "rtx3090", "rtx3070", "a100", "a4000", "a6000",
                                          "l4",      "l40s",    "t4",      "orin",    "h100", "h200",  "rtx5090"};
  std::set<std::string> names, keys;
  for (const Target& preset : target_presets()) {
    names.insert(preset.name);
    keys.insert(key(preset));
  }
  EXPECT_EQ(names, expected);
  EXPECT_EQ(keys.size(), expected.size());
}

TEST(TargetPresets, Rtx4090HasItsNumbers) {
  const Target& card = target_preset("rtx4090");
  EXPECT_EQ(card.device_name, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(card.arch(), "sm_89");
  EXPECT_EQ(card.compute_capability(), 89);
  EXPECT_EQ(card.sm_count, 128);
  EXPECT_EQ(card.smem_per_block_bytes, 101376);
  EXPECT_EQ(card.smem_per_sm_bytes, 102400);
  EXPECT_EQ(card.max_warps_per_sm, 48);
  EXPECT_EQ(card.max_ctas_per_sm, 24);
  EXPECT_EQ(card.l2_bytes, 75497472);
}

TEST(TargetPresets, UnknownNameListsThePresets) {
  try {
    target_preset("gtx1");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gtx1"));
    EXPECT_THAT(error.what(), HasSubstr("rtx5090"));
  }
}

TEST(TargetPresets, EveryClockConstantHasItsSource) {
  for (const Target& preset : target_presets()) {
    ASSERT_FALSE(preset.timing.empty());
    for (const auto& item : preset.timing.items()) {
      EXPECT_TRUE(item.value()["value"].is_number()) << item.key();
      EXPECT_FALSE(item.value()["source"].get<std::string>().empty()) << item.key();
    }
  }
}

TEST(TargetTiming, UnknownArchitectureTakesTheNearestLower) {
  EXPECT_EQ(default_timing(103), default_timing(90));
  EXPECT_EQ(default_timing(121), default_timing(120));
  EXPECT_THROW(default_timing(70), UsageError);
}

TEST(TargetJson, RoundTripsThroughText) {
  for (const Target& preset : target_presets()) {
    EXPECT_EQ(target_from_json(Json::parse(to_json(preset).dump())), preset) << preset.name;
  }
}

TEST(TargetJson, AbsentTimingBecomesTheArchitectures) {
  Json json = to_json(target_preset("a100"));
  json.erase("timing");
  EXPECT_EQ(target_from_json(json), target_preset("a100"));
}

TEST(TargetJson, EachMissingFieldIsNamed) {
  const Json whole = to_json(target_preset("t4"));
  for (const auto& item : whole.items()) {
    if (item.key() == "timing") continue;
    Json json = whole;
    json.erase(item.key());
    EXPECT_THAT(refusal(json), HasSubstr("`" + item.key() + "` is missing"));
  }
}

TEST(TargetJson, EachFieldOfWrongTypeOrRangeIsNamed) {
  const Json whole = to_json(target_preset("t4"));
  for (const auto& item : whole.items()) {
    const std::vector<Json> values = item.value().is_string()
                                         ? std::vector<Json>{5, nullptr, std::string(300, 'x'), "a\nb"}
                                         : std::vector<Json>{"5", nullptr, -1, 1e300, 18446744073709551615u};
    for (const Json& value : values) {
      Json json = whole;
      json[item.key()] = value;
      EXPECT_THAT(refusal(json), HasSubstr("`" + item.key() + "`")) << value.dump();
    }
  }
}

TEST(TargetJson, RefusesWhatIsUnknownOrContradictory) {
  Json json = to_json(target_preset("rtx4090"));
  json["warp_size"] = 32;
  EXPECT_THAT(refusal(json), HasSubstr("`warp_size` is unknown"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("object"));

  json = to_json(target_preset("rtx4090"));
  json["smem_per_block_bytes"] = 102401;
  EXPECT_THAT(refusal(json), HasSubstr("`smem_per_block_bytes`"));

  json = to_json(target_preset("rtx4090"));
  json["max_warps_per_sm"] = 16;
  EXPECT_THAT(refusal(json), HasSubstr("`max_threads_per_block`"));

  json = to_json(target_preset("rtx4090"));
  json["compute_major"] = 7;
  json["compute_minor"] = 0;
  EXPECT_THAT(refusal(json), HasSubstr("`compute_major`"));
}

TEST(TargetJson, RefusesWrongClockConstants) {
  const Json whole = to_json(target_preset("rtx4090"));
  Json json = whole;
  json["timing"]["dram_efficiency"]["value"] = 0;
  EXPECT_THAT(refusal(json), HasSubstr("`timing.dram_efficiency.value`"));
  json = whole;
  json["timing"]["dram_efficiency"] = 0.5;
  EXPECT_THAT(refusal(json), HasSubstr("`timing.dram_efficiency`"));
  json = whole;
  json["timing"].erase("lsu_lanes");
  EXPECT_THAT(refusal(json), HasSubstr("`timing.lsu_lanes` is missing"));
  json = whole;
  json["timing"]["lsu_lines"] = json["timing"]["lsu_lanes"];
  EXPECT_THAT(refusal(json), HasSubstr("`timing.lsu_lines` is unknown"));
}

TEST(TargetKey, CoversTheCardAndNotItsPresetNameOrClockConstants) {
  const Target& card = target_preset("rtx4090");
  Target other = card;
  other.name = "cuda:0";
  other.timing["launch_us"]["value"] = 9.0;
  EXPECT_EQ(key(other), key(card));
  EXPECT_EQ(key(card).substr(0, 3), "t1-");
  other.sm_count = 127;
  EXPECT_NE(key(other), key(card));
}

}  // namespace
}  // namespace warpwright
