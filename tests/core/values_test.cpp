// Small value types: Configs, Outcomes, kernels' JSON, hashes.
#include <gtest/gtest.h>

#include "src/core/config.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/kernel.h"
#include "src/core/outcome.h"

namespace warpwright {
namespace {

TEST(Hash, known_digest) {
  EXPECT_EQ(sha256_hex(std::string_view("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(key_hex("abc"), "ba7816bf8f01cfea414140de5dae2223");
}

TEST(Config, text_is_canonical_and_round_trips) {
  Config config{"dp4a_gemm", 2, {{"tile_n", 64}, {"tile_m", 32}}};
  EXPECT_EQ(key(config), R"({"family":"dp4a_gemm","knobs":{"tile_m":32,"tile_n":64},"space_version":2})");
  EXPECT_EQ(config_from_json(Json::parse(key(config))), config);
  EXPECT_EQ(summary(config), "dp4a_gemm tile_m=32 tile_n=64");
  EXPECT_THROW(config.at("tile_k"), InternalError);
}

TEST(Config, foreign_json_is_refused) {
  for (const char* text :
       {"[]", "{}", R"({"family":1,"knobs":{},"space_version":1})", R"({"family":"a","knobs":[],"space_version":1})",
        R"({"family":"a","knobs":{"x":1.5},"space_version":1})",
        R"({"family":"a","knobs":{"x":"1"},"space_version":1})",
        R"({"family":"a","knobs":{},"space_version":1,"more":1})"}) {
    EXPECT_THROW(config_from_json(Json::parse(text)), UsageError) << text;
  }
}

TEST(Outcome, names_round_trip_and_four_are_transient) {
  int transient = 0;
  for (int i = 0; i <= static_cast<int>(OutcomeKind::infrastructure); ++i) {
    auto kind = static_cast<OutcomeKind>(i);
    EXPECT_EQ(outcome_kind_from_name(name(kind)), kind);
    transient += is_transient(kind) ? 1 : 0;
  }
  EXPECT_EQ(transient, 4);
  EXPECT_THROW(outcome_kind_from_name("fine"), UsageError);
}

TEST(Outcome, time_is_the_median_and_only_when_ok) {
  Outcome outcome;
  EXPECT_THROW(outcome.median_us(), InternalError);
  outcome.kind = OutcomeKind::ok;
  EXPECT_THROW(outcome.median_us(), InternalError);
  outcome.samples_us = {5, 1, 9};
  EXPECT_EQ(outcome.median_us(), 5);
  outcome.samples_us = {4, 1, 9, 2};
  EXPECT_EQ(outcome.median_us(), 3);
}

TEST(Kernel, launch_and_arguments_round_trip_and_foreign_ones_are_refused) {
  LaunchShape launch{{7, 2, 1}, {128, 1, 1}, 49152};
  EXPECT_EQ(launch_shape_from_json(to_json(launch)), launch);
  Json bad = to_json(launch);
  bad["grid"] = {0, 1, 1};
  EXPECT_THROW(launch_shape_from_json(bad), UsageError);
  bad["grid"] = {1, 1};
  EXPECT_THROW(launch_shape_from_json(bad), UsageError);
  EXPECT_THROW(launch_shape_from_json(Json(3)), UsageError);

  std::vector<KernelArgument> arguments{{KernelArgument::Role::input, 1, "", DType::u8},
                                        {KernelArgument::Role::constant, 0, "weights", DType::s8},
                                        {KernelArgument::Role::scalar, 0, "lo", DType::f32}};
  EXPECT_EQ(arguments_from_json(to_json(arguments)), arguments);
  EXPECT_FALSE(to_json(arguments)[0].contains("bytes"));
  arguments.push_back({KernelArgument::Role::workspace, 0, "", DType::s32, 4096});
  arguments.push_back({KernelArgument::Role::counters, 0, "", DType::s32, 16});
  EXPECT_EQ(arguments_from_json(to_json(arguments)), arguments);
  for (const int64_t bytes : {int64_t{-4}, int64_t{0}, int64_t{6}, kMostScratchBytes + 4}) {
    Json scratch = to_json(arguments);
    scratch[3]["bytes"] = bytes;
    EXPECT_THROW(arguments_from_json(scratch), UsageError) << bytes;
  }
  Json without = to_json(arguments);
  without[4].erase("bytes");
  EXPECT_THROW(arguments_from_json(without), UsageError);
  Json list = to_json(arguments);
  list[0]["role"] = "friend";
  EXPECT_THROW(arguments_from_json(list), UsageError);
  EXPECT_THROW(arguments_from_json(Json::object()), UsageError);
}

}  // namespace
}  // namespace warpwright
