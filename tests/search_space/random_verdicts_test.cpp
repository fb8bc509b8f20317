// The random suite notices what it is there for: kernels that were spoilt on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/reference/examples/workloads.h"
#include "tests/search_space/random/random_case.h"

namespace warpwright::testing {
namespace {

using ::testing::AnyOf;

/// dp4a_gemm with a piece of its source replaced, wherever it stands.
class SpoiltFamily final : public KernelFamily {
 public:
  SpoiltFamily(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  std::string_view name() const override { return real_.name(); }
  int space_version() const override { return real_.space_version(); }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const override {
    return real_.why_unsupported(workload, target);
  }
  Space space(const Workload& workload, const Target& target) const override { return real_.space(workload, target); }
  Config default_config(const Workload& workload, const Target& target) const override {
    return real_.default_config(workload, target);
  }
  Resources resources(const Workload& workload, const Config& config, const Target& target) const override {
    return real_.resources(workload, config, target);
  }
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const override {
    KernelSource kernel = real_.emit(workload, config, target);
    size_t found = 0;
    for (size_t at = kernel.source.find(from_); at != std::string::npos; at = kernel.source.find(from_, at)) {
      kernel.source.replace(at, from_.size(), to_);
      at += to_.size();
      ++found;
    }
    EXPECT_GT(found, 0u) << from_;
    return kernel;
  }
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const override {
    return real_.pack(workload, config, argument, values);
  }

 private:
  const KernelFamily& real_ = *family_named("dp4a_gemm");
  std::string from_, to_;
};

/// Of a product whose tiles do not divide its rows.
std::string verdict_of(const std::string& from, const std::string& to) {
  const SpoiltFamily family(from, to);
  const Target& target = target_preset("rtx4090");
  const Workload workload =
      conv2d_workload(nhwc_form(DType::s8, 1, 5, 13, 96), DType::s8, 33, 1, square_window(3, 1, 1));
  const RandomCase item{&family, &target, workload, family.default_config(workload, target), 1};
  return run_case(*open_nvrtc(), item).verdict;
}

TEST(RandomVerdicts, ASoundKernelIsOk) { EXPECT_EQ(verdict_of("kRows", "kRows"), "ok"); }

TEST(RandomVerdicts, WrongSumsAreWrong) { EXPECT_EQ(verdict_of("dot4(a[i].w", "dot4(a[i].z"), "wrong"); }

TEST(RandomVerdicts, RowsBehindTheLastAreOutOfBounds) {
  EXPECT_EQ(verdict_of("m < kRows && n < kStoredColumns", "n < kStoredColumns"), "out_of_bounds");
}

TEST(RandomVerdicts, WithoutBarriersThereIsARace) {
  EXPECT_THAT(verdict_of("__syncthreads();", ""), AnyOf("race", "uninitialised"));
}

TEST(RandomVerdicts, OtherSharedMemoryThanPlannedIsNoticed) {
  EXPECT_EQ(verdict_of("unsigned char smem[", "unsigned char smem[16 + "), "resources");
}

TEST(RandomVerdicts, WhatDoesNotCompileSaysSo) {
  EXPECT_EQ(verdict_of("__syncthreads", "no_such_function"), "compile_error");
}

}  // namespace
}  // namespace warpwright::testing
