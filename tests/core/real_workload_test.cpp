// Workloads of the float32 kinds: keys that must never change, canonical JSON, checks of maps, rows and values.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "src/core/error.h"
#include "tests/reference/examples/real_workloads.h"

namespace warpwright {
namespace {

using testing::map_workload;
using testing::real_conv2d_workload;
using testing::real_matmul_workload;

std::vector<Workload> all_workloads() {
  std::vector<Workload> all = testing::real_product_workloads();
  for (const auto& list : {testing::map_workloads(), testing::real_light_workloads()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

/// x [4,6] + b [6], then its tanh.
Map sum_and_tanh() {
  Map map;
  map.extents = {4, 6};
  map.operands = {{DType::f32, false, {6, 1}}, {DType::f32, true, {0, 1}}};
  map.instructions = {{MapOp::add, {0, 1}}, {MapOp::tanh, {2}}};
  return map;
}

Workload softmax() {
  Workload workload;
  workload.kind = OpKind::softmax;
  workload.inputs = {nchw_form(DType::f32, 2, 3, 4, 5)};
  workload.output = workload.inputs[0];
  workload.rows = {2, 3, 20};
  return workload;
}

void expect_refused(Workload workload, const std::function<void(Workload&)>& change) {
  EXPECT_NO_THROW(check(workload));
  change(workload);
  EXPECT_THROW(check(workload), InternalError) << to_json(workload).dump();
}

TEST(RealWorkload, golden_keys) {
  EXPECT_EQ(key(real_conv2d_workload(nchw_form(DType::f32, 1, 64, 56, 56), 128, 1, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1})),
            "w1-223f8301349a6551ed260f3c9d57d5a9");
  EXPECT_EQ(key(real_matmul_workload(3, 17, 70, 33, true, false)), "w1-9edde7b4c95eca8aeaa746b191e1675c");
  EXPECT_EQ(key(map_workload(sum_and_tanh())), "w1-33db38bca0294144692d955e1bdfa506");
  EXPECT_EQ(key(softmax()), "w1-76d19ccdb4772519d93ad4732e9031c0");
}

TEST(RealWorkload, canonical_json_round_trips_and_every_workload_has_its_own_key) {
  std::set<std::string> keys;
  for (const Workload& workload : all_workloads()) {
    EXPECT_NO_THROW(check(workload)) << workload.summary();
    EXPECT_EQ(workload_from_json(to_json(workload)), workload) << to_json(workload).dump();
    EXPECT_FALSE(workload.summary().empty());
    keys.insert(key(workload));
  }
  EXPECT_EQ(keys.size(), all_workloads().size());
}

TEST(RealWorkload, foreign_json_is_refused) {
  const auto refused = [](const Workload& workload, auto change) {
    Json json = to_json(workload);
    EXPECT_NO_THROW(workload_from_json(json));
    change(json);
    EXPECT_THROW(workload_from_json(json), UsageError) << json.dump();
  };
  const Workload map = map_workload(sum_and_tanh());
  refused(map, [](Json& j) { j["map"]["instructions"][0][0] = "sum"; });
  refused(map, [](Json& j) { j["map"]["instructions"][0] = {"add", 0}; });
  refused(map, [](Json& j) { j["map"]["instructions"][1] = {"tanh", 3}; });
  refused(map, [](Json& j) { j["map"]["instructions"][1] = {"tanh", -1}; });
  refused(map, [](Json& j) { j["map"]["instructions"] = Json::array(); });
  refused(map, [](Json& j) { j["map"]["extents"] = {-4, 6}; });
  refused(map, [](Json& j) { j["map"]["operands"][0]["steps"] = {int64_t{1} << 62, 1}; });
  refused(map, [](Json& j) { j["map"]["operands"][0]["steps"] = {-6, 1}; });
  refused(map, [](Json& j) { j["groups"] = 1; });
  refused(softmax(), [](Json& j) { j["rows"] = {2, 3}; });
  refused(softmax(), [](Json& j) { j["rows"] = {int64_t{1} << 40, int64_t{1} << 40, 20}; });
  refused(softmax(), [](Json& j) { j["rows"] = {0, 3, 20}; });
  refused(softmax(), [](Json& j) { j["inputs"][0]["dtype"] = "s32"; });
}

TEST(RealWorkload, maps_must_fit) {
  const Workload good = map_workload(sum_and_tanh());
  // A type that the operation does not take, an operand that nobody reads, more extents than it needs.
  expect_refused(good, [](Workload& w) { w.map.operands[1].dtype = DType::s32; });
  expect_refused(good, [](Workload& w) { w.map.instructions[1] = {MapOp::logical_not, {2}}; });
  expect_refused(good, [](Workload& w) { w.map.instructions[0] = {MapOp::negate, {0}}; });
  expect_refused(good, [](Workload& w) { w.map.operands[1].steps = {6, 1}; });
  // Behind the end of its input, another number of elements, another type, another number of inputs.
  expect_refused(good, [](Workload& w) { w.inputs[0] = nchw_form(DType::f32, 1, 23, 1, 1); });
  expect_refused(good, [](Workload& w) { w.output = nchw_form(DType::f32, 1, 25, 1, 1); });
  expect_refused(good, [](Workload& w) { w.output.dtype = DType::s32; });
  expect_refused(good, [](Workload& w) { w.inputs.push_back(w.inputs[0]); });
  expect_refused(good, [](Workload& w) { w.output = nhwc_form(DType::f32, 1, 1, 1, 24); });
  Values values{{"constant0", Tensor(DType::f32, {6})}};
  EXPECT_NO_THROW(check(good, values));
  values["constant0"] = Tensor(DType::f32, {7});
  EXPECT_THROW(check(good, values), InternalError);
}

TEST(RealWorkload, a_map_merges_the_extents_that_all_operands_walk_alike) {
  Map map = sum_and_tanh();
  map.extents = {2, 2, 1, 3, 2};
  map.operands[0].steps = {12, 6, 5, 2, 1};
  map.operands[1].steps = {0, 0, 9, 2, 1};
  EXPECT_EQ(simplified(map), sum_and_tanh());
  map.operands[1].steps = {0, 0, 0, 0, 0};
  EXPECT_EQ(simplified(map).extents, (std::vector<int64_t>{24}));
}

TEST(RealWorkload, products_and_rows_must_fit) {
  const Workload conv = real_conv2d_workload(nchw_form(DType::f32, 1, 12, 6, 6), 18, 3, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2});
  expect_refused(conv, [](Workload& w) { w.groups = 5; });
  expect_refused(conv, [](Workload& w) { w.output.h = 5; });
  expect_refused(conv, [](Workload& w) { w.inputs[0].dtype = DType::s32; });
  const Workload matmul = real_matmul_workload(3, 17, 70, 33, true, false);
  expect_refused(matmul, [](Workload& w) { w.transposed = false; });
  expect_refused(matmul, [](Workload& w) { w.batch = 2; });
  EXPECT_EQ(matmul.multiply_adds(), 3 * 17 * 70 * 33);
  EXPECT_EQ(conv.multiply_adds(), 18 * 36 * 4 * 9);
  expect_refused(softmax(), [](Workload& w) { w.rows = {2, 3, 19}; });
  expect_refused(softmax(), [](Workload& w) { w.output.w = 4; });
  for (const Workload& workload : testing::real_light_workloads()) {
    if (workload.kind == OpKind::join) expect_refused(workload, [](Workload& w) { w.lengths[0] += 1; });
    if (workload.kind == OpKind::reduce) expect_refused(workload, [](Workload& w) { w.output.c += 1; });
    if (workload.kind == OpKind::gather) expect_refused(workload, [](Workload& w) { w.rows.inner += 1; });
  }
}

TEST(RealWorkload, indices_of_a_resample_lie_inside_the_image) {
  Workload workload;
  workload.kind = OpKind::resample;
  workload.inputs = {nchw_form(DType::f32, 1, 2, 3, 4)};
  workload.output = nchw_form(DType::f32, 1, 2, 6, 8);
  Values values{{"h_index", Tensor(DType::s32, {6})},
                {"h_weight", Tensor(DType::f32, {6})},
                {"w_index", Tensor(DType::s32, {8})},
                {"w_weight", Tensor(DType::f32, {8})}};
  EXPECT_NO_THROW(check(workload, values));
  for (const int32_t outside : {-1, 3}) {
    Values wrong = values;
    wrong["h_index"].as<int32_t>()[5] = outside;
    EXPECT_THROW(check(workload, wrong), InternalError);
  }
}

TEST(RealWorkload, the_new_types_have_names_and_sizes) {
  for (const DType dtype : {DType::s8, DType::u8, DType::s32, DType::f32, DType::s64, DType::boolean, DType::f16}) {
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  }
  EXPECT_EQ(size_bytes(DType::s64), 8U);
  EXPECT_EQ(size_bytes(DType::boolean), 1U);
  EXPECT_EQ(size_bytes(DType::f16), 2U);
  Tensor tensor(DType::f32, {2}), other = tensor;
  tensor.as<float>()[0] = other.as<float>()[1] = NAN;
  EXPECT_FALSE(equal_element(tensor, other, 0));
  other.as<float>()[0] = -NAN;
  EXPECT_TRUE(equal_element(tensor, other, 0));
  other.as<float>()[1] = -0.0F;
  EXPECT_FALSE(equal_element(tensor, other, 1));
}

}  // namespace
}  // namespace warpwright
