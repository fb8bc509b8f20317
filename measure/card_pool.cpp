// Waiting for a card: first among the threads of this process, then among all processes.
#include "measure/card_pool.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "src/core/log.h"

namespace warpwright {
namespace {

using namespace std::chrono_literals;

constexpr auto kStopStep = 100ms;  // how late `stop` may be seen
constexpr auto kLockStep = 5ms;    // between two tries at a lock that another process has
constexpr int kStepsUntilNotice = 2000;

}  // namespace

CardPool::Card* CardPool::free_card(bool only_first) {
  for (const auto& card : cards_) {
    if (card->is_retired) continue;
    if (!card->is_busy) return card.get();
    if (only_first) return nullptr;
  }
  return nullptr;
}

CardPool::Place CardPool::line_up() {
  const std::lock_guard lock(mutex_);
  places_.push_back(places_given_);
  return {*this, places_given_++};
}

void CardPool::leave_queue(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(places_, number);
  }
  freed_.notify_all();
}

std::optional<CardPool::Lease> CardPool::take(const Place& place, const StopCheck& stop, bool only_first) {
  Card* card = nullptr;
  {
    std::unique_lock lock(mutex_);
    const auto is_hopeless = [&] {
      return (stop && stop()) ||
             std::all_of(cards_.begin(), cards_.end(), [](const auto& each) { return each->is_retired; });
    };
    while (!is_hopeless()) {
      card = places_.front() == place.number() ? free_card(only_first) : nullptr;
      if (card != nullptr) break;
      freed_.wait_for(lock, kStopStep);
    }
    if (card == nullptr) return std::nullopt;
    card->is_busy = true;
  }
  leave_queue(place.number());
  Lease lease(*this, *card);
  if (!lock_among_processes(*card, stop)) return std::nullopt;
  return lease;
}

/// False after `stop`.
bool CardPool::lock_among_processes(Card& card, const StopCheck& stop) {
  if (card.lock == nullptr) return true;
  int steps = 0;
  const auto wait_for = [&](NamedLock& lock) {
    for (; !lock.try_lock(); ++steps) {
      if (stop && stop()) return false;
      if (steps == kStepsUntilNotice) log_info("waiting for {}: another process times on it", card.device);
      std::this_thread::sleep_for(kLockStep);
    }
    return true;
  };
  const bool has_it = wait_for(*card.turn) && wait_for(*card.lock);
  card.turn->unlock();
  return has_it;
}

void CardPool::give_back(Card& card) {
  if (card.lock != nullptr) card.lock->unlock();
  {
    const std::lock_guard lock(mutex_);
    card.is_busy = false;
  }
  freed_.notify_all();
}

bool CardPool::is_lost(Card& card, const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome.kind != OutcomeKind::device_lost && outcome.kind != OutcomeKind::infrastructure) {
    card.lost_in_a_row = 0;
    return false;
  }
  ++card.lost_in_a_row;
  const auto alive = std::count_if(cards_.begin(), cards_.end(), [](const auto& each) { return !each->is_retired; });
  if (card.lost_in_a_row < kMostLost || (alive < 2 && !card.is_retired)) return false;
  if (!card.is_retired) log_warning("{} is left out from now on: {}", card.device, outcome.message);
  card.is_retired = true;
  return true;
}

}  // namespace warpwright
