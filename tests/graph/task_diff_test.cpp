// Tasks of two programs side by side.
#include <gtest/gtest.h>

#include "src/graph/lowering.h"
#include "src/tasks/task_diff.h"
#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

class TaskDiff : public testing::Test {
 protected:
  /// Another task for the step: its Workload is read by nobody here but for its key.
  static void change(ProgramStep& step) { ++step.workload.window.dilation_h; }
  const TaskDifference& at(const std::vector<TaskDifference>& list, size_t step) const {
    for (const TaskDifference& difference : list) {
      const std::vector<size_t>& steps = difference.task.steps;
      const bool is_new = difference.change != TaskChange::gone;
      if (is_new && std::find(steps.begin(), steps.end(), step) != steps.end()) return difference;
    }
    throw std::runtime_error("no such step");
  }
  static int64_t count(const std::vector<TaskDifference>& list, TaskChange change) {
    return std::count_if(list.begin(), list.end(), [&](const auto& item) { return item.change == change; });
  }

  const Program old_ =
      lower(import_onnx(test_data_folder() / "models/digits_qat/model.onnx", {{"image", {1, 1, 8, 8}}}));
  Program new_ = old_;
};

TEST_F(TaskDiff, RetrainedIsAllTheSame) {
  for (ProgramStep& step : new_.steps) {
    step.onnx_nodes = {"renamed"};
    for (auto& [name, value] : step.values) std::fill(value.bytes.begin(), value.bytes.end(), std::byte{1});
  }
  const auto list = diff_tasks(old_, new_);
  EXPECT_EQ(list.size(), extract_tasks(old_).size());
  EXPECT_EQ(count(list, TaskChange::same), static_cast<int64_t>(list.size()));
}

TEST_F(TaskDiff, AnotherTaskForTheNodesIsAChange) {
  change(new_.steps[3]);  // reads a DequantizeLinear that step 4 reads too
  const auto list = diff_tasks(old_, new_);
  ASSERT_EQ(list.size(), extract_tasks(old_).size());
  EXPECT_EQ(count(list, TaskChange::changed), 1);
  EXPECT_EQ(at(list, 3).change, TaskChange::changed);
  EXPECT_EQ(at(list, 3).was.value().key, key(old_.steps[3].workload));
  EXPECT_EQ(at(list, 3).old_weight, 0);
  EXPECT_EQ(at(list, 4).change, TaskChange::same);
}

TEST_F(TaskDiff, OtherNodesAreNewAndWhatIsLeftIsGone) {
  change(new_.steps[3]);
  new_.steps[3].onnx_nodes = {"conv_of_its_own", "conv1_dequant"};  // the latter is shared and tells nothing
  const auto list = diff_tasks(old_, new_);
  EXPECT_EQ(at(list, 3).change, TaskChange::added);
  EXPECT_EQ(count(list, TaskChange::added), 1);
  EXPECT_EQ(count(list, TaskChange::changed), 0);
  ASSERT_EQ(list.back().change, TaskChange::gone);
  EXPECT_EQ(list.back().task.key, key(old_.steps[3].workload));
  EXPECT_EQ(list.back().new_weight, 0);
  EXPECT_EQ(list.back().old_weight, 1);
}

TEST_F(TaskDiff, WeightsAreOfBothPrograms) {
  // Steps 3 and 4 run one task; then step 4 has one of its own, which was a part of it.
  new_.steps[4].workload = new_.steps[3].workload;
  const auto list = diff_tasks(new_, old_);
  EXPECT_EQ(at(list, 3).change, TaskChange::same);
  EXPECT_EQ(at(list, 3).old_weight, 2);
  EXPECT_EQ(at(list, 3).new_weight, 1);
  EXPECT_EQ(at(list, 4).change, TaskChange::changed);
  EXPECT_EQ(at(list, 4).was.value().key, at(list, 3).task.key);
  EXPECT_EQ(count(list, TaskChange::gone), 0);
}

}  // namespace
}  // namespace warpwright
