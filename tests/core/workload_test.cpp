// Workloads: keys that must never change, what changes them and what does not, checks.
#include "src/core/workload.h"

#include <gtest/gtest.h>

#include "src/core/error.h"

namespace warpwright {
namespace {

Workload conv3x3() {
  Workload workload;
  workload.kind = OpKind::conv2d;
  workload.inputs = {nhwc_form(DType::u8, 1, 56, 56, 64)};
  workload.output = nhwc_form(DType::u8, 1, 56, 56, 128);
  workload.window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  workload.x_zero_point = ZeroPointForm::scalar;
  workload.epilogue = {true, ResidualForm::none, false, DType::u8};
  return workload;
}

Workload dense() {
  Workload workload;
  workload.kind = OpKind::dense;
  workload.inputs = {nhwc_form(DType::s8, 4, 1, 1, 1280)};
  workload.output = nhwc_form(DType::s8, 4, 1, 1, 1000);
  workload.epilogue = {true, ResidualForm::none, false, DType::s8};
  return workload;
}

Workload matmul() {
  Workload workload;
  workload.kind = OpKind::matmul;
  workload.inputs = {nhwc_form(DType::u8, 3 * 17, 1, 1, 64), nhwc_form(DType::s8, 3 * 33, 1, 1, 64)};
  workload.output = nhwc_form(DType::u8, 3 * 17, 1, 1, 33);
  workload.batch = 3;
  workload.transposed = true;
  workload.x_zero_point = ZeroPointForm::scalar;
  return workload;
}

/// A Workload that asks for the accumulators.
Workload sums(Workload workload) {
  workload.output.dtype = DType::s32;
  if (workload.is_matrix_product()) workload.epilogue.table_input = DType::s32;
  return workload;
}

Workload pool() {
  Workload workload;
  workload.kind = OpKind::average_pool;
  workload.inputs = {nhwc_form(DType::u8, 1, 7, 7, 320)};
  workload.output = nhwc_form(DType::u8, 1, 1, 1, 320);
  workload.window = {7, 7, 1, 1, 1, 1, 0, 0, 0, 0};
  return workload;
}

/// [2,20,6,7] to [2,6,7,20], two columns padded.
Workload move() {
  Workload workload;
  workload.kind = OpKind::move;
  workload.inputs = {nhwc_form(DType::u8, 2, 6, 7, 20)};
  workload.output = nhwc_form(DType::u8, 2, 9, 20, 6);
  workload.movement = {-1, {{2, 840, 0, 2}, {6, 7, 0, 6}, {9, 1, 1, 8}, {20, 42, 0, 20}}};
  return workload;
}

TEST(Workload, golden_keys) {
  EXPECT_EQ(key(conv3x3()), "w1-0024ee39a3e8eeebe673107c1563b13f");
  EXPECT_EQ(key(dense()), "w1-776f6845d493aad13cb8a9bbbf4da0d3");
  EXPECT_EQ(key(pool()), "w1-e5d2cbd0af772d457f8af203066ddfbf");
  EXPECT_EQ(key(matmul()), "w1-e6d5c31ce8b35496857feac314ae280b");
  EXPECT_EQ(key(sums(conv3x3())), "w1-c9eb4c52491999e61e2efb9b3962faf0");
  EXPECT_EQ(key(move()), "w1-8b7ea86cd8a26462741112d79afe41d7");
}

TEST(Workload, canonical_json_round_trips) {
  for (const Workload& workload : {conv3x3(), dense(), pool(), matmul(), sums(conv3x3()), sums(matmul()), move()}) {
    EXPECT_EQ(workload_from_json(to_json(workload)), workload);
    EXPECT_EQ(key(workload_from_json(Json::parse(to_json(workload).dump()))), key(workload));
  }
}

TEST(Workload, every_field_that_changes_code_changes_the_key) {
  const std::string before = key(conv3x3());
  auto changed = [&](auto change) {
    Workload workload = conv3x3();
    change(workload);
    return key(workload) != before;
  };
  EXPECT_TRUE(changed([](Workload& w) { w.inputs[0].dtype = DType::s8; }));
  EXPECT_TRUE(changed([](Workload& w) { w.weight_dtype = DType::u8; }));
  EXPECT_TRUE(changed([](Workload& w) { w.x_zero_point = ZeroPointForm::zero; }));
  EXPECT_TRUE(changed([](Workload& w) { w.weight_zero_point = ZeroPointForm::scalar; }));
  EXPECT_TRUE(changed([](Workload& w) { w.weight_zero_point = ZeroPointForm::per_channel; }));
  EXPECT_TRUE(changed([](Workload& w) { w.epilogue.bias = false; }));
  EXPECT_TRUE(changed([](Workload& w) { w.epilogue.table = true; }));
  EXPECT_TRUE(changed([](Workload& w) {
    w.epilogue.residual = ResidualForm::rounded;
    w.inputs.push_back(w.output);
  }));
  EXPECT_TRUE(changed([](Workload& w) { w.groups = 2; }));
  EXPECT_TRUE(changed([](Workload& w) { w.output.pixel_stride = 256; }));
  EXPECT_TRUE(changed([](Workload& w) { w.inputs[0].channel_offset = 16, w.inputs[0].pixel_stride = 80; }));
  EXPECT_TRUE(changed([](Workload& w) { w.window.pad_top = 0, w.window.pad_bottom = 2; }));
}

TEST(Workload, foreign_json_is_refused) {
  const Json good = to_json(conv3x3());
  auto refused = [&](auto change) {
    Json json = good;
    change(json);
    EXPECT_THROW(workload_from_json(json), UsageError) << json.dump();
  };
  refused([](Json& j) { j.erase("window"); });
  refused([](Json& j) { j["kind"] = "conv3d"; });
  refused([](Json& j) { j["groups"] = 3; });
  refused([](Json& j) { j["groups"] = 0; });
  refused([](Json& j) { j["surprise"] = 1; });
  refused([](Json& j) { j["inputs"][0]["nhwc"][3] = -1; });
  refused([](Json& j) { j["inputs"][0]["pixel_stride"] = 63; });
  refused([](Json& j) { j["inputs"][0]["nhwc"] = {1, 2147483648, 2147483648, 64}; });
  refused([](Json& j) { j["window"]["stride"] = {0, 1}; });
  refused([](Json& j) { j["output"]["nhwc"] = {1, 55, 56, 128}; });
  refused([](Json& j) { j = "text"; });
  refused([](Json& j) { j = nullptr; });
}

TEST(Workload, matmul_extents_must_fit) {
  const auto refused = [](auto change) {
    Workload workload = matmul();
    change(workload);
    EXPECT_THROW(check(workload), InternalError) << to_json(workload).dump();
  };
  EXPECT_NO_THROW(check(matmul()));
  refused([](Workload& w) { w.transposed = false; });
  refused([](Workload& w) { w.batch = 2; });
  refused([](Workload& w) { w.batch = 0; });
  refused([](Workload& w) { w.inputs.pop_back(); });
  refused([](Workload& w) { w.inputs[1].c = 63; });
  refused([](Workload& w) { w.weight_zero_point = ZeroPointForm::per_channel; });
  refused([](Workload& w) { w.output.dtype = DType::f32; });
}

TEST(Workload, movements_read_inside_their_input) {
  const auto with = [](auto change) {
    Workload workload = move();
    change(workload);
    return workload;
  };
  EXPECT_NO_THROW(check(move()));
  EXPECT_THROW(check(with([](Workload& w) { w.movement.start = -2; })), InternalError);
  EXPECT_THROW(check(with([](Workload& w) { w.movement.start = 1; })), InternalError);
  EXPECT_THROW(check(with([](Workload& w) { w.movement.axes[2].last = 10; })), InternalError);
  EXPECT_THROW(check(with([](Workload& w) { w.movement.axes[1].extent = 5; })), InternalError);
  EXPECT_THROW(check(with([](Workload& w) { w.movement.axes[0] = {2, int64_t{1} << 50, 0, 1}; })), InternalError);
  EXPECT_THROW(check(with([](Workload& w) { w.inputs[0].dtype = DType::s8; })), InternalError);
  // More axes than it needs would be a second key for the same.
  EXPECT_THROW(check(with([](Workload& w) { w.movement.axes.push_back({1, 0, 0, 1}); })), InternalError);
  Values values{{"fill", scalar_s32(3)}, {"pad_code", scalar_s32(0)}};
  EXPECT_NO_THROW(check(move(), values));
  values["fill"] = scalar_s32(256);
  EXPECT_THROW(check(move(), values), InternalError);
}

TEST(Workload, accumulators_have_no_requantization) {
  Workload workload = sums(dense());
  Values values{{"weights", Tensor(DType::s8, {1000, 1, 1, 1280})},
                {"x_zero_point", scalar_s32(0)},
                {"bias", Tensor(DType::s32, {1000})},
                {"pad_code", scalar_s32(0)}};
  EXPECT_NO_THROW(check(workload, values));
  values["multiplier"] = Tensor(DType::f32, {1000});
  EXPECT_THROW(check(workload, values), InternalError);
  values.erase("multiplier");
  values["pad_code"] = scalar_s32(1);
  EXPECT_THROW(check(workload, values), InternalError);
  workload.epilogue.table = true;
  EXPECT_THROW(check(workload), InternalError);
}

TEST(Workload, values_are_checked_by_name_type_length_and_range) {
  Workload workload = dense();
  Values values;
  values["weights"] = Tensor(DType::s8, {1000, 1, 1, 1280});
  values["x_zero_point"] = scalar_s32(0);
  values["bias"] = Tensor(DType::s32, {1000});
  values["multiplier"] = Tensor(DType::f32, {1000});
  values["y_zero_point"] = scalar_s32(3);
  values["lo"] = scalar_f32(-131);
  values["hi"] = scalar_f32(124);
  values["pad_code"] = scalar_s32(3);
  EXPECT_NO_THROW(check(workload, values));
  auto broken = [&](auto change) {
    Values copy = values;
    change(copy);
    EXPECT_THROW(check(workload, copy), InternalError);
  };
  broken([](Values& v) { v.erase("bias"); });
  broken([](Values& v) { v["extra"] = scalar_f32(1); });
  broken([](Values& v) { v["x_zero_point"] = scalar_s32(1); });
  broken([](Values& v) { v["hi"] = scalar_f32(125); });
  broken([](Values& v) { v["lo"] = scalar_f32(-130.5F); });
  broken([](Values& v) { v["weights"] = Tensor(DType::u8, {1000, 1, 1, 1280}); });
  broken([](Values& v) { v["multiplier"].as<float>()[7] = INFINITY; });
  broken([](Values& v) { v["pad_code"] = scalar_s32(200); });
}

TEST(Workload, padded_channels_are_4_or_multiples_of_16) {
  EXPECT_EQ(padded_channels(1), 4);
  EXPECT_EQ(padded_channels(4), 4);
  EXPECT_EQ(padded_channels(5), 16);
  EXPECT_EQ(padded_channels(16), 16);
  EXPECT_EQ(padded_channels(17), 32);
}

TEST(Workload, arithmetic_of_sizes) {
  EXPECT_EQ(conv3x3().reduction_size(), 576);
  EXPECT_EQ(conv3x3().multiply_adds(), int64_t{56} * 56 * 128 * 576);
  EXPECT_FALSE(conv3x3().is_depthwise());
  EXPECT_EQ(conv3x3().summary(), "conv2d 1x56x56x64 -> 56x56x128 k3x3 s1 u8*s8");
  EXPECT_EQ(matmul().multiply_adds(), int64_t{3} * 17 * 64 * 33);
  EXPECT_EQ(matmul().summary(), "matmul 3x17x64 -> 33 u8*s8 transposed");
  EXPECT_EQ(sums(dense()).summary(), "dense 4x1280 -> 1000 s8*s8 s32");
}

}  // namespace
}  // namespace warpwright
