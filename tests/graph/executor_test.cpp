// The executor: several batches, wrong inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "src/core/npy.h"
#include "src/graph/lowering.h"
#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

using testing::HasSubstr;

std::filesystem::path digits_folder() { return test_data_folder() / "models/digits_qat"; }

Program digits(int64_t batch) {
  return lower(import_onnx(digits_folder() / "model.onnx", {{"image", {batch, 1, 8, 8}}}));
}

std::string fault(const NamedTensors& inputs) {
  static const Program program = digits(2);
  try {
    check_inputs(program, inputs);
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Executor, BatchesGiveTheSameWhateverTheModelsBatch) {
  const Tensor images = read_npy(digits_folder() / "input_image.npy");
  const Tensor wanted = read_npy(digits_folder() / "integer_logits.npy");
  for (int64_t batch : {1, 4, 360}) {
    const NamedTensors outputs = run_on_reference(digits(batch), {{"image", images}});
    EXPECT_EQ(difference(outputs.at("logits"), wanted), "") << "batch " << batch;
  }
}

TEST(Executor, EachStepIsObserved) {
  const Program program = digits(1);
  std::vector<size_t> seen;
  run_on_reference(program, {{"image", Tensor(DType::f32, {2, 1, 8, 8})}}, [&](size_t step, const Tensor& buffer) {
    seen.push_back(step);
    EXPECT_EQ(buffer.size(), program.steps[step].workload.output.buffer_elements());
  });
  EXPECT_EQ(seen.size(), 2 * program.steps.size());
}

TEST(Executor, WrongInputsAreNamed) {
  EXPECT_EQ(fault({{"image", Tensor(DType::f32, {4, 1, 8, 8})}}), "");
  EXPECT_THAT(fault({}), HasSubstr("'image' is missing"));
  EXPECT_THAT(fault({{"image", Tensor(DType::f32, {2, 1, 8, 8})}, {"other", Tensor()}}), HasSubstr("'other'"));
  EXPECT_THAT(fault({{"image", Tensor(DType::u8, {2, 1, 8, 8})}}), HasSubstr("u8"));
  EXPECT_THAT(fault({{"image", Tensor(DType::f32, {3, 1, 8, 8})}}), HasSubstr("[3,1,8,8]"));
  EXPECT_THAT(fault({{"image", Tensor(DType::f32, {2, 1, 8, 9})}}), HasSubstr("[2,1,8,9]"));
  EXPECT_THAT(fault({{"image", Tensor(DType::f32, {0, 1, 8, 8})}}), HasSubstr("[0,1,8,8]"));
  EXPECT_THAT(fault({{"image", Tensor(DType::f32, {2, 64})}}), HasSubstr("[2,64]"));
}

}  // namespace
}  // namespace warpwright
