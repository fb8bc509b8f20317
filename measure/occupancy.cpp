// The integral of the idle share over time.
#include "measure/occupancy.h"

#include <algorithm>

namespace warpwright {
namespace {

double free_share(int used, int all) { return std::max(0.0, 1.0 - static_cast<double>(used) / all); }

}  // namespace

double Occupancy::idle_share() const {
  return free_share(used_slots_, slots_) * (cards_ > 0 ? free_share(used_cards_, cards_) : 1.0);
}

void Occupancy::change(int& used, int by) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  idle_s_ += idle_share() * std::chrono::duration<double>(now - since_).count();
  since_ = now;
  used += by;
}

double Occupancy::idle_seconds() const {
  const std::lock_guard lock(mutex_);
  return idle_s_ + idle_share() * std::chrono::duration<double>(Clock::now() - since_).count();
}

}  // namespace warpwright
