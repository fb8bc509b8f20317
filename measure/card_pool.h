// CardPool: the cards of a run, each with the one process that times on it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/worker_process.h"
#include "src/core/named_lock.h"
#include "src/core/outcome.h"

namespace warpwright {

class CardPool {
 public:
  struct Card {
    std::string device;       // as --device has it
    std::string environment;  // for people
    std::unique_ptr<WorkerProcess> worker;
    // Among processes; null where all may run at once: a virtual device. Who waits for `lock` holds `turn`, so that
    // nobody who gives it back can take it again before him.
    std::unique_ptr<NamedLock> lock, turn;
    bool is_busy = false, is_retired = false;
    int lost_in_a_row = 0;
  };

  /// A card of one's own, among all processes of the machine, until it is destroyed.
  class Lease {
   public:
    Lease(CardPool& pool, Card& card) : pool_(&pool), card_(&card) {}
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(*card_);
    }
    Lease(Lease&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), card_(other.card_) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Lease& operator=(Lease&&) = delete;
    Card& card() const { return *card_; }

   private:
    CardPool* pool_;
    Card* card_;
  };

  /// A place in the queue for a card, given up by its destruction.
  class Place {
   public:
    Place(CardPool& pool, uint64_t number) : pool_(&pool), number_(number) {}
    ~Place() {
      if (pool_ != nullptr) pool_->leave_queue(number_);
    }
    Place(Place&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), number_(other.number_) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    Place& operator=(Place&&) = delete;
    uint64_t number() const { return number_; }

   private:
    CardPool* pool_;
    uint64_t number_;
  };

  void add(Card card) { cards_.push_back(std::make_unique<Card>(std::move(card))); }
  size_t size() const { return cards_.size(); }

  /// Who has a place waits for no one that comes later, and everyone behind him waits for him.
  Place line_up();
  /// A card that is free, in the order of the places; the place is left with it. nullopt after `stop`, or when all
  /// cards are retired.
  std::optional<Lease> take(const Place& place, const StopCheck& stop) { return take(place, stop, false); }
  /// The first card that is not retired.
  std::optional<Lease> take_first(const StopCheck& stop) { return take(line_up(), stop, true); }

  /// Takes notice of what came of a trial on the card. One that is lost kMostLost times in a row is retired while there
  /// is another, and true says that its trial goes to that one.
  bool is_lost(Card& card, const Outcome& outcome);
  static constexpr int kMostLost = 3;

 private:
  Card* free_card(bool only_first);
  std::optional<Lease> take(const Place& place, const StopCheck& stop, bool only_first);
  void leave_queue(uint64_t number);
  bool lock_among_processes(Card& card, const StopCheck& stop);
  void give_back(Card& card);

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::deque<uint64_t> places_;  // who comes first
  uint64_t places_given_ = 0;
  std::vector<std::unique_ptr<Card>> cards_;
};

}  // namespace warpwright
