// The run limit of a virtual device grows with the work and has a floor.
#include "measure/instruction_limit.h"

#include <gtest/gtest.h>

#include "tests/measure/small_workload.h"

namespace warpwright {
namespace {

TEST(InstructionLimit, HasAFloorAndGrowsWithEachTerm) {
  const Workload small = small_dense();
  EXPECT_EQ(instruction_limit(small, {}), kLeastInstructionLimit);
  Resources resources;
  resources.threads = 33;  // two warps
  resources.ctas = 1000;
  const uint64_t warps_only = instruction_limit(small, resources);
  EXPECT_GE(warps_only, kInstructionSlack * 2 * 1000 * 500);
  resources.inner_products = 32'000'000;
  const uint64_t with_products = instruction_limit(small, resources);
  EXPECT_EQ(with_products - warps_only, kInstructionSlack * (32'000'000 * 8 - 8 * 64 * 32 * 4) / 32);
  resources.global_load_bytes = resources.global_store_bytes = resources.smem_bytes_moved = 32'000'000;
  EXPECT_EQ(instruction_limit(small, resources) - with_products, kInstructionSlack * 3 * 2'000'000);
}

TEST(InstructionLimit, AbsurdResourcesDoNotOverflow) {
  Resources resources;
  resources.inner_products = INT64_MAX;
  resources.threads = resources.ctas = INT32_MAX;
  EXPECT_GE(instruction_limit(small_dense(), resources), uint64_t{1} << 59);
}

}  // namespace
}  // namespace warpwright
