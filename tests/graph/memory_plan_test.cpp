// The memory plan: nothing alive at the same time overlaps, and memory is used again.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

#include "src/graph/lowering.h"
#include "src/graph/memory_plan.h"
#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

/// Lives are found anew here, step by step.
void expect_sound(const Program& program) {
  std::vector<std::vector<size_t>> alive(program.steps.size() + 1);
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const ProgramTensor& tensor = program.tensors[t];
    EXPECT_EQ(tensor.arena_offset % kArenaAlignment, 0);
    EXPECT_GE(tensor.arena_offset, 0);
    EXPECT_LE(tensor.arena_offset + tensor.form.buffer_bytes(), program.arena_bytes);
    int first = -1, last = -1;
    for (size_t s = 0; s < program.steps.size(); ++s) {
      const ProgramStep& step = program.steps[s];
      if (step.output == static_cast<int>(t)) first = last = static_cast<int>(s);
      for (int input : step.inputs) {
        if (input == static_cast<int>(t)) last = static_cast<int>(s);
      }
    }
    for (const ProgramPort& port : program.outputs) {
      if (port.tensor == static_cast<int>(t)) last = static_cast<int>(program.steps.size());
    }
    EXPECT_EQ(tensor.first_step, first);
    EXPECT_EQ(tensor.last_step, last);
    for (int s = std::max(first, 0); s <= last; ++s) alive[static_cast<size_t>(s)].push_back(t);
  }
  for (const auto& together : alive) {
    for (size_t a = 0; a < together.size(); ++a) {
      for (size_t b = a + 1; b < together.size(); ++b) {
        const ProgramTensor& one = program.tensors[together[a]];
        const ProgramTensor& other = program.tensors[together[b]];
        EXPECT_TRUE(one.arena_offset + one.form.buffer_bytes() <= other.arena_offset ||
                    other.arena_offset + other.form.buffer_bytes() <= one.arena_offset)
            << one.name << " and " << other.name;
      }
    }
  }
}

TEST(MemoryPlan, ModelsReuseMemory) {
  const Program program =
      lower(import_onnx(test_data_folder() / "models/mixed_shapes/model.onnx", {{"input", {1, 3, 96, 160}}}));
  expect_sound(program);
  int64_t sum = 0;
  for (const ProgramTensor& tensor : program.tensors) sum += tensor.form.buffer_bytes();
  EXPECT_LT(program.arena_bytes * 2, sum);
}

TEST(MemoryPlan, RandomProgramsAreSound) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Program program;
    auto add_tensor = [&] {
      ProgramTensor tensor;
      tensor.name = fmt::format("t{}", program.tensors.size());
      tensor.form = nhwc_form(DType::s8, 1, 1 + random() % 9, 1 + random() % 9, 1 + random() % 70);
      program.tensors.push_back(tensor);
      return static_cast<int>(program.tensors.size()) - 1;
    };
    program.inputs.push_back({"x", {}, DType::s8, add_tensor()});
    for (int s = 0; s < 30; ++s) {
      ProgramStep step;
      step.inputs.push_back(static_cast<int>(random() % program.tensors.size()));
      step.inputs.push_back(static_cast<int>(random() % program.tensors.size()));
      step.output = add_tensor();
      program.steps.push_back(step);
    }
    program.outputs.push_back({"y", {}, DType::s8, static_cast<int>(program.tensors.size()) - 1});
    program.outputs.push_back({"z", {}, DType::s8, static_cast<int>(random() % program.tensors.size())});
    plan_memory(program);
    expect_sound(program);
  }
}

}  // namespace
}  // namespace warpwright
