// What NVML tells of a card, in words; and that nothing of it is needed.
#include "src/device/cuda/nvml.h"

#include <gtest/gtest.h>

namespace warpwright {
namespace {

TEST(Nvml, ThrottlingIsNamedAndIdlingIsNone) {
  EXPECT_EQ(throttle_text(0), "");
  EXPECT_EQ(throttle_text(0x1 | 0x2 | 0x100), "");  // idle, clocks set by the user, by the display
  EXPECT_EQ(throttle_text(0x4), "power_cap");
  EXPECT_EQ(throttle_text(0x20 | 0x80 | 0x1), "thermal, power_brake");
}

TEST(Nvml, NoStateOfACardThatIsNotThere) {
  EXPECT_FALSE(nvml_card_state("GPU-00000000-0000-0000-0000-000000000000"));
  EXPECT_FALSE(card_state("virtual:rtx4090"));
  EXPECT_EQ(card_id("virtual:rtx4090"), "");
}

}  // namespace
}  // namespace warpwright
