// The reference against a naive implementation, and against numbers computed by hand.
#include "src/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/core/error.h"
#include "tests/reference/examples/real_workloads.h"
#include "tests/reference/examples/workloads.h"
#include "tests/reference/naive.h"

namespace warpwright {
namespace {

using testing::dense_workload;

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> list;
  for (const Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

void expect_equal_to_naive(const Workload& workload, uint64_t seed) {
  SCOPED_TRACE(workload.summary() + " seed " + std::to_string(seed) + " " + to_json(workload).dump());
  const Example example = make_example(workload, seed);
  const auto inputs = pointers(example.inputs);
  const Tensor got = run_reference(workload, example.values, inputs);
  const Tensor expected = testing::run_naive(workload, example.values, inputs);
  ASSERT_EQ(got.bytes.size(), expected.bytes.size());
  for (int64_t i = 0; i < got.size(); ++i) ASSERT_TRUE(equal_element(got, expected, i)) << "element " << i;
}

TEST(Reference, EqualsTheNaiveImplementationOnProducts) {
  for (const auto& list :
       {testing::product_workloads(), testing::accumulator_workloads(), testing::matmul_workloads()}) {
    for (const Workload& workload : list) {
      for (uint64_t seed = 1; seed <= 6; ++seed) expect_equal_to_naive(workload, seed);
    }
  }
}

TEST(Reference, EqualsTheNaiveImplementationOnLightKinds) {
  for (const Workload& workload : testing::light_workloads()) {
    for (uint64_t seed = 1; seed <= 6; ++seed) expect_equal_to_naive(workload, seed);
  }
}

TEST(Reference, EqualsTheNaiveImplementationOnFloat32Kinds) {
  for (const auto& list :
       {testing::real_product_workloads(), testing::map_workloads(), testing::real_light_workloads()}) {
    for (const Workload& workload : list) {
      for (uint64_t seed = 1; seed <= 4; ++seed) expect_equal_to_naive(workload, seed);
    }
  }
}

TEST(Reference, SumsBeyondOneChunkWrapAround) {
  // 70,000 products of 255 * 255 exceed int32 twice over.
  Workload workload = dense_workload(DType::u8, DType::s8, 1, 70000, 4);
  workload.weight_dtype = DType::u8;
  workload.epilogue.bias = false;
  Example example = make_example(workload, 1);
  for (auto* tensor : {&example.inputs[0], &example.values["weights"]}) {
    for (uint8_t& code : tensor->as<uint8_t>()) code = 255;
  }
  const int64_t wrapped = int64_t{70000} * 255 * 255 - (int64_t{1} << 32);
  for (float& multiplier : example.values["multiplier"].as<float>()) multiplier = 100.0f / static_cast<float>(wrapped);
  example.values["lo"] = scalar_f32(-128);
  example.values["hi"] = scalar_f32(127);
  example.values["y_zero_point"] = scalar_s32(0);
  const Tensor y = run_reference(workload, example.values, pointers(example.inputs));
  EXPECT_EQ(y.as<int8_t>()[0], 100);
}

TEST(Reference, RoundsHalfToEven) {
  // acc = x, multiplier 0.5: ties at every odd x.
  Workload workload = dense_workload(DType::s8, DType::s8, 8, 1, 1);
  const Values values{{"weights", Tensor(DType::s8, {1, 1, 1, 1})},
                      {"x_zero_point", scalar_s32(0)},
                      {"bias", scalar_s32(0)},
                      {"multiplier", scalar_f32(0.5f)},
                      {"lo", scalar_f32(-3)},
                      {"hi", scalar_f32(100)},
                      {"y_zero_point", scalar_s32(1)},
                      {"pad_code", scalar_s32(-7)}};
  Values with_one = values;
  with_one["weights"].as<int8_t>()[0] = 1;
  Tensor x(DType::s8, {workload.inputs[0].buffer_elements()});
  const std::vector<int8_t> codes{1, 3, 5, -1, -3, -5, 127, -128};
  for (size_t i = 0; i < codes.size(); ++i) x.as<int8_t>()[4 * i] = codes[i];
  const std::vector<const Tensor*> inputs{&x};
  const Tensor y = run_reference(workload, with_one, inputs);
  // 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, -0.5 -> 0, -1.5 -> -2, -2.5 -> -2, 63.5 -> 64, -64 -> clamp -3; then + 1.
  const std::vector<int> expected{1, 3, 3, 1, -1, -1, 65, -2};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(y.as<int8_t>()[4 * i], expected[i]) << i;
    for (size_t pad = 1; pad < 4; ++pad) EXPECT_EQ(y.as<int8_t>()[4 * i + pad], -7);
  }
}

TEST(Reference, QuantizeOfNotANumberGivesTheLowerBound) {
  Workload workload;
  workload.kind = OpKind::quantize;
  workload.inputs = {nchw_form(DType::f32, 1, 4, 1, 1)};
  workload.output = nhwc_form(DType::u8, 1, 1, 1, 4);
  const Values values{{"scale", scalar_f32(0.5f)},
                      {"lo", scalar_f32(-10)},
                      {"hi", scalar_f32(245)},
                      {"zero_point", scalar_s32(10)},
                      {"pad_code", scalar_s32(0)}};
  const float numbers[4] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0.25f,
                            -0.75f};
  const Tensor x = vector_f32(numbers);
  const std::vector<const Tensor*> inputs{&x};
  const Tensor y = run_reference(workload, values, inputs);
  EXPECT_EQ(y.as<uint8_t>()[0], 0);
  EXPECT_EQ(y.as<uint8_t>()[1], 255);
  EXPECT_EQ(y.as<uint8_t>()[2], 10);
  EXPECT_EQ(y.as<uint8_t>()[3], 8);
}

TEST(Reference, PadLanesOfInputsDoNotMatter) {
  for (const auto& list : {testing::product_workloads(), testing::light_workloads(), testing::matmul_workloads()}) {
    for (const Workload& workload : list) {
      Example example = make_example(workload, 1);
      const Tensor before = run_reference(workload, example.values, pointers(example.inputs));
      for (size_t i = 0; i < workload.inputs.size(); ++i) {
        const TensorForm& form = workload.inputs[i];
        if (form.layout == Layout::nchw) continue;
        auto bytes = example.inputs[i].as<uint8_t>();
        for (size_t lane = 0; lane < bytes.size(); ++lane) {
          const auto element = static_cast<int64_t>(lane / size_bytes(form.dtype));
          const int64_t channel = element % form.pixel_stride - form.channel_offset;
          if (channel < 0 || channel >= form.c) bytes[lane] = static_cast<uint8_t>(~bytes[lane]);
        }
      }
      EXPECT_TRUE(run_reference(workload, example.values, pointers(example.inputs)) == before) << workload.summary();
    }
  }
}

TEST(Reference, RefusesWrongBuffers) {
  const Workload workload = dense_workload(DType::s8, DType::s8, 1, 64, 16);
  const Example example = make_example(workload, 1);
  const Tensor small(DType::s8, {63}), other(DType::u8, {64});
  EXPECT_THROW(run_reference(workload, example.values, std::vector<const Tensor*>{}), InternalError);
  EXPECT_THROW(run_reference(workload, example.values, std::vector<const Tensor*>{&small}), InternalError);
  EXPECT_THROW(run_reference(workload, example.values, std::vector<const Tensor*>{&other}), InternalError);
}

}  // namespace
}  // namespace warpwright
