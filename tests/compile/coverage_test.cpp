// Shares of the expected time: measured where this card was measured, else the prior in the same scale.
#include "src/compile/coverage.h"

#include <gtest/gtest.h>

#include "cost_model/cost_model.h"
#include "tests/compile/task_records.h"

namespace warpwright {
namespace {

PlannedKernel kernel_of(int64_t columns, int weight, Rung rung, double best_us) {
  PlannedKernel kernel;
  kernel.task.workload.kind = OpKind::dense;
  kernel.task.workload.inputs = {nhwc_form(DType::s8, 8, 1, 1, 512)};
  kernel.task.workload.output = nhwc_form(DType::s8, 8, 1, 1, columns);
  kernel.task.key = key(kernel.task.workload);
  kernel.task.weight = weight;
  kernel.choice.config = default_config(kernel.task.workload, target_preset("rtx4090"));
  kernel.choice.rung = rung;
  kernel.choice.best_us = best_us;
  return kernel;
}

double prior_us(const PlannedKernel& kernel) {
  return analytic_us(kernel.task.workload, kernel.choice.config, target_preset("rtx4090"));
}

TEST(Coverage, CountsMeasuredTimesAndThePriorInTheirScale) {
  PlannedKernel exact = kernel_of(32, 3, Rung::exact, 0);
  exact.choice.best_us = 2 * prior_us(exact);  // the card takes twice what the prior says
  // A time of another card says nothing of the scale here.
  const PlannedKernel arch = kernel_of(64, 1, Rung::arch, 1e6), unknown = kernel_of(96, 2, Rung::default_config, 0);
  const Coverage coverage = coverage_of({{target_preset("rtx4090"), false}, {exact, arch, unknown}, {}});
  const double of_exact = 3 * 2 * prior_us(exact), of_arch = 2 * prior_us(arch), of_unknown = 2 * 2 * prior_us(unknown);
  ASSERT_EQ(coverage.expected_us.size(), 3u);
  EXPECT_DOUBLE_EQ(coverage.expected_us[0], of_exact);
  EXPECT_DOUBLE_EQ(coverage.expected_us[1], of_arch);
  EXPECT_DOUBLE_EQ(coverage.expected_us[2], of_unknown);
  EXPECT_EQ(coverage.rungs.at(Rung::exact).kernels, 1);
  EXPECT_DOUBLE_EQ(coverage.rungs.at(Rung::exact).time_share, of_exact / (of_exact + of_arch + of_unknown));
  EXPECT_DOUBLE_EQ(coverage.rungs.at(Rung::default_config).time_share, of_unknown / (of_exact + of_arch + of_unknown));
  EXPECT_FALSE(coverage.rungs.contains(Rung::near));
}

TEST(Coverage, WithoutMeasurementsThePriorStandsAlone) {
  const PlannedKernel a = kernel_of(32, 1, Rung::default_config, 0), b = kernel_of(512, 1, Rung::near, 7);
  const Coverage coverage = coverage_of({{target_preset("rtx4090"), false}, {a, b}, {}});
  EXPECT_DOUBLE_EQ(coverage.expected_us[0], prior_us(a));
  EXPECT_DOUBLE_EQ(coverage.expected_us[1], prior_us(b));
  EXPECT_TRUE(coverage_of({{target_preset("rtx4090"), false}, {}, {}}).rungs.empty());
}

}  // namespace
}  // namespace warpwright
