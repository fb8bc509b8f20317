// The spaces of the tensor-core families are as large as promised, for every layer of ResNet-50 and on cards that
// nobody has heard of yet.
#include <gtest/gtest.h>

#include <functional>
#include <unordered_set>

#include "cost_model/default_config.h"
#include "tests/reference/examples/workloads.h"
#include "tests/search_space/product_workloads.h"

namespace warpwright {
namespace {

/// The convolutions of ResNet-50 at batch 1 but its stem, and its classifier.
std::vector<Workload> resnet50_layers() {
  std::vector<Workload> layers;
  auto add = [&](int64_t size, int64_t c, int64_t k, int64_t kernel, int64_t stride) {
    layers.push_back(testing::conv2d_workload(nhwc_form(DType::s8, 1, size, size, c), DType::s8, k, 1,
                                              testing::square_window(kernel, stride, kernel / 2)));
  };
  int64_t size = 56, in = 64;
  for (const int64_t width : {64, 128, 256, 512}) {
    const int64_t stride = width == 64 ? 1 : 2;
    add(size, in, width, 1, 1);
    add(size, width, width, 3, stride);
    add(size, in, 4 * width, 1, stride);
    size /= stride;
    add(size, width, 4 * width, 1, 1);
    add(size, 4 * width, width, 1, 1);
    add(size, width, width, 3, 1);
    in = 4 * width;
  }
  layers.push_back(testing::dense_workload(DType::s8, DType::s8, 1, 2048, 1000));
  return layers;
}

/// Distinct sources of mma_gemm where the order of tiles, split K and CTAs an SM are fixed, counted up to `enough`.
size_t distinct_tiles(const Workload& workload, const Target& target, size_t enough) {
  const KernelFamily& family = *family_named("mma_gemm");
  const Space space = family.space(workload, target);
  std::mt19937_64 random(17);
  std::unordered_set<std::string> tiles;
  std::unordered_set<size_t> sources;
  for (size_t draw = 0; draw < 40 * enough && sources.size() < enough; ++draw) {
    std::optional<Config> config = space.sample(random);
    if (!config) break;
    config->knobs["columns_first"] = 0;
    for (const char* knob : {"raster_group", "split_k", "ctas_per_sm"}) config->knobs[knob] = 1;
    if (space.why_illegal(*config) || !tiles.insert(key(*config)).second) continue;
    sources.insert(std::hash<std::string>()(family.emit(workload, *config, target).source));
  }
  return sources.size();
}

TEST(TensorCoreSpaces, HoldAThousandTilesOfEachLayerWithALongReduction) {
  for (const Workload& layer : resnet50_layers()) {
    const size_t wanted = layer.reduction_size() >= 512 ? 1000 : 100;
    EXPECT_EQ(distinct_tiles(layer, target_preset("rtx4090"), wanted), wanted) << layer.summary();
  }
}

TEST(TensorCoreSpaces, ComeToCardsThatAreUnknownByTheirLimits) {
  Target card = target_preset("rtx4090");
  card.name = "unknown";
  card.device_name = "A card of next year";
  card.compute_major = 12;
  card.compute_minor = 0;
  card.sm_count = 70;
  card.smem_per_block_bytes = 60 << 10;  // less than any card of its kind has
  card.smem_per_sm_bytes = 64 << 10;
  for (const Workload& layer : resnet50_layers()) {
    const KernelFamily& family = *family_named("mma_gemm");
    ASSERT_EQ(family.why_unsupported(layer, card), std::nullopt) << layer.summary();
    EXPECT_GE(distinct_tiles(layer, card, 100), 100u) << layer.summary();
    const Config start = family.default_config(layer, card);
    EXPECT_EQ(why_illegal(layer, start, card), std::nullopt);
    EXPECT_LE(family.resources(layer, start, card).smem_bytes, card.smem_per_block_bytes);
    EXPECT_EQ(why_illegal(layer, default_config(layer, card), card), std::nullopt);
  }
}

TEST(TensorCoreSpaces, SeedsAreLegal) {
  for (const char* name : {"t4", "a100", "rtx4090", "h100"}) {
    const Target& card = target_preset(name);
    for (const Workload& workload : testing::typical_products()) {
      for (const KernelFamily* family : families_for(workload, card)) {
        for (const Config& seed : family->seeds(workload, card)) {
          EXPECT_EQ(why_illegal(workload, seed, card), std::nullopt) << summary(seed) << " of " << workload.summary();
        }
      }
    }
  }
}

}  // namespace
}  // namespace warpwright
