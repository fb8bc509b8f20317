// The default of a Workload that several families take.
#include "cost_model/default_config.h"

#include <gtest/gtest.h>

#include "cost_model/cost_model.h"
#include "search_space/no_legal_config.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

/// One Config, and a kernel of `dots` dot products.
class FixedFamily final : public KernelFamily {
 public:
  FixedFamily(std::string_view name, int64_t dots) : name_(name), dots_(dots) {}

  std::string_view name() const override { return name_; }
  int space_version() const override { return 1; }
  std::optional<std::string> why_unsupported(const Workload&, const Target&) const override { return std::nullopt; }
  Space space(const Workload&, const Target&) const override {
    return Space(std::string(name_), 1, {}, [](const Config&) { return std::nullopt; });
  }
  Config default_config(const Workload&, const Target&) const override { return {std::string(name_), 1, {}}; }
  Resources resources(const Workload&, const Config&, const Target&) const override {
    Resources resources;
    resources.threads = 128;
    resources.ctas = 64;
    resources.registers = 64;
    resources.inner_products = dots_;
    return resources;
  }
  KernelSource emit(const Workload&, const Config&, const Target&) const override { return {}; }
  Tensor pack(const Workload&, const Config&, const std::string&, const Values&) const override { return {}; }

 private:
  std::string_view name_;
  int64_t dots_;
};

Workload dense(int64_t rows, int64_t reduction, int64_t columns) {
  Workload workload;
  workload.kind = OpKind::dense;
  workload.inputs = {nhwc_form(DType::s8, rows, 1, 1, reduction)};
  workload.output = nhwc_form(DType::s8, rows, 1, 1, columns);
  return workload;
}

TEST(DefaultConfig, IsThatOfTheFamilyWithTheLeastEstimate) {
  const FixedFamily slow("slow", 1 << 28), fast("fast", 1 << 20), equal("equal", 1 << 20);
  const std::vector<const KernelFamily*> families = {&slow, &fast, &equal};
  const std::vector<Config> defaults = default_configs(dense(64, 64, 64), target_preset("rtx4090"), families);
  ASSERT_EQ(defaults.size(), 3u);
  EXPECT_EQ(defaults[0].family, "fast");  // before its equal, which is listed later
  EXPECT_EQ(defaults[1].family, "equal");
  EXPECT_EQ(defaults[2].family, "slow");
}

/// No formula for a default, and at most one legal Config.
class FormlessFamily final : public KernelFamily {
 public:
  explicit FormlessFamily(bool has_config) : has_config_(has_config) {}

  std::string_view name() const override { return "formless"; }
  int space_version() const override { return 1; }
  std::optional<std::string> why_unsupported(const Workload&, const Target&) const override { return std::nullopt; }
  Space space(const Workload&, const Target&) const override {
    return Space("formless", 1, {{"size", {1, 2, 3}}}, [this](const Config& config) -> std::optional<std::string> {
      if (has_config_ && config.at("size") == 2) return std::nullopt;
      return "too large";
    });
  }
  Config default_config(const Workload& workload, const Target& target) const override {
    throw NoLegalConfig(name(), workload, target);
  }
  Resources resources(const Workload&, const Config&, const Target&) const override {
    Resources resources;
    resources.threads = resources.ctas = resources.registers = 32;
    return resources;
  }
  KernelSource emit(const Workload&, const Config&, const Target&) const override { return {}; }
  Tensor pack(const Workload&, const Config&, const std::string&, const Values&) const override { return {}; }

 private:
  bool has_config_;
};

TEST(DefaultConfig, FamiliesWithoutALegalConfigAreLeftOut) {
  const FixedFamily fixed("fixed", 1 << 20);
  const FormlessFamily empty(false), found(true);
  const Workload workload = dense(64, 64, 64);
  const Target& target = target_preset("rtx4090");
  const std::vector<const KernelFamily*> one_has = {&empty, &fixed}, none_has = {&empty}, other_has = {&found};
  const std::vector<Config> defaults = default_configs(workload, target, one_has);
  ASSERT_EQ(defaults.size(), 1u);
  EXPECT_EQ(defaults[0].family, "fixed");
  EXPECT_TRUE(default_configs(workload, target, none_has).empty());
  EXPECT_EQ(default_configs(workload, target, other_has).at(0).at("size"), 2) << "the formula misses what is legal";
}

TEST(DefaultConfig, ACardWithLittleSharedMemoryUsesTheFamiliesThatNeedNone) {
  Target target = target_preset("rtx4090");
  target.name = "tiny";
  target.smem_per_block_bytes = target.smem_per_sm_bytes = 1024;
  const Workload workload = dense(64, 512, 256);
  EXPECT_THROW(family_named("mma_gemm")->default_config(workload, target), NoLegalConfig);
  const Config config = default_config(workload, target);
  EXPECT_EQ(why_illegal(workload, config, target), std::nullopt);
  target.registers_per_sm = 1024;  // and nothing at all fits
  try {
    default_config(workload, target);
    FAIL() << "a Config is legal";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("points looked at"), std::string::npos) << text;
    EXPECT_NE(text.find("mma_gemm: "), std::string::npos) << text;
  }
}

TEST(DefaultConfig, ComesFromAllFamiliesThatTakeTheWorkload) {
  const Workload workload = dense(64, 512, 256);
  for (const char* card : {"t4", "a100", "rtx4090", "rtx5090"}) {
    const Target& target = target_preset(card);
    const Config config = default_config(workload, target);
    EXPECT_EQ(why_illegal(workload, config, target), std::nullopt);
    for (const KernelFamily* family : families_for(workload, target)) {
      EXPECT_LE(analytic_us(workload, config, target),
                analytic_us(workload, family->default_config(workload, target), target));
    }
  }
}

TEST(DefaultConfig, SaysWhyNoFamilyTakesAWorkload) {
  Workload workload = dense(1, 64, 64);
  workload.inputs[0].c = workload.inputs[0].pixel_stride = int64_t{1} << 31;
  try {
    default_config(workload, target_preset("rtx4090"));
    FAIL() << "a family takes it";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    for (const KernelFamily* family : kernel_families()) {
      EXPECT_NE(text.find(family->name()), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace warpwright
