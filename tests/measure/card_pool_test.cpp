// CardPool: who lined up first is served first, and nobody waits for a place that was given up or a card that is lost.
#include "measure/card_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace warpwright {
namespace {

/// Ends a wait that should have ended by itself.
StopCheck after_seconds(int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  return [end] { return std::chrono::steady_clock::now() > end; };
}

void add_card(CardPool& pool, const char* device) {
  CardPool::Card card;
  card.device = device;
  pool.add(std::move(card));
}

Outcome lost() {
  Outcome outcome;
  outcome.kind = OutcomeKind::device_lost;
  return outcome;
}

TEST(CardPool, ServesInTheOrderOfThePlaces) {
  CardPool pool;
  add_card(pool, "cuda:0");
  const CardPool::Place first = pool.line_up();
  const CardPool::Place second = pool.line_up();
  auto later = std::async(std::launch::async, [&] { return pool.take(second, after_seconds(60)).has_value(); });
  EXPECT_EQ(later.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  {
    const auto lease = pool.take(first, after_seconds(10));
    ASSERT_TRUE(lease);
    EXPECT_EQ(later.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  }
  EXPECT_TRUE(later.get());
}

TEST(CardPool, APlaceThatIsGivenUpHoldsNobodyUp) {
  CardPool pool;
  add_card(pool, "cuda:0");
  { const CardPool::Place first = pool.line_up(); }
  EXPECT_TRUE(pool.take(pool.line_up(), after_seconds(10)));
}

TEST(CardPool, ACardThatIsLostThriceIsLeftOutWhileThereIsAnother) {
  CardPool pool;
  add_card(pool, "cuda:0");
  add_card(pool, "cuda:1");
  for (int i = 1; i <= CardPool::kMostLost; ++i) {
    const auto lease = pool.take(pool.line_up(), after_seconds(10));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->card().device, "cuda:0");
    EXPECT_EQ(pool.is_lost(lease->card(), lost()), i == CardPool::kMostLost);
  }
  const auto lease = pool.take_first(after_seconds(10));
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->card().device, "cuda:1");
  for (int i = 0; i < 2 * CardPool::kMostLost; ++i) EXPECT_FALSE(pool.is_lost(lease->card(), lost()));
}

}  // namespace
}  // namespace warpwright
