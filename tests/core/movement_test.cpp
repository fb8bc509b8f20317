// Movements: what they say, and that fewer axes say the same.
#include "src/core/movement.h"

#include <gtest/gtest.h>

namespace warpwright {
namespace {

TEST(Movement, AxesThatLieTogetherBecomeOne) {
  const Movement all = simplified(whole({2, 3, 1, 4}));
  EXPECT_EQ(all, (Movement{0, {{24, 1, 0, 24}}}));
  EXPECT_TRUE(whole({2, 3, 4}).is_identity(24));
  EXPECT_FALSE(whole({2, 3, 4}).is_identity(48));
  EXPECT_EQ(transposition({2, 3, 4, 5}, {0, 3, 1, 2}), (Movement{0, {{2, 60, 0, 2}, {5, 1, 0, 5}, {12, 5, 0, 12}}}));
  // Dimensions of one element have no order.
  EXPECT_TRUE(transposition({2, 1, 4}, {1, 0, 2}).is_identity(8));
}

TEST(Movement, PaddedAxesStayApartFromTheOneBefore) {
  const Movement outer{-4, {{5, 4, 1, 4}, {4, 1, 0, 4}}};
  EXPECT_EQ(simplified(outer), (Movement{-4, {{20, 1, 4, 16}}}));
  const Movement inner{-1, {{3, 6, 0, 3}, {6, 1, 1, 5}}};
  EXPECT_EQ(simplified(inner), inner);
  EXPECT_TRUE(inner.fills());
  EXPECT_EQ(inner.elements(), 18);
}

}  // namespace
}  // namespace warpwright
