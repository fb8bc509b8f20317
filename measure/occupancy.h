// Occupancy: how much of the time what could work did.
#pragma once

#include <chrono>
#include <mutex>

namespace warpwright {

/// Slots that compile (on a virtual device: compile and run) and cards that time. What holds a night up is the kind
/// that is full; time is lost only as far as neither is: the product of the idle shares of both.
class Occupancy {
 public:
  /// `cards` 0: a virtual device.
  Occupancy(int slots, int cards) : slots_(slots), cards_(cards) {}

  void change_slots(int by) { change(used_slots_, by); }
  void change_cards(int by) { change(used_cards_, by); }
  /// Lost so far, in wall seconds.
  double idle_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  void change(int& used, int by);
  double idle_share() const;

  const int slots_, cards_;
  mutable std::mutex mutex_;
  int used_slots_ = 0, used_cards_ = 0;
  double idle_s_ = 0;
  Clock::time_point since_ = Clock::now();
};

/// Counts one more for as long as it lives.
class Occupied {
 public:
  using Change = void (Occupancy::*)(int);
  Occupied(Occupancy& occupancy, Change change) : occupancy_(occupancy), change_(change) { (occupancy_.*change_)(1); }
  ~Occupied() { (occupancy_.*change_)(-1); }
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;

 private:
  Occupancy& occupancy_;
  Change change_;
};

}  // namespace warpwright
