// parallel_for: independent pieces of work over all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace warpwright {

/// Calls `work` once for every index in [0, count), on several threads when the machine has them. The first exception
/// of any call is thrown here, after all threads have ended.
void parallel_for(int64_t count, const std::function<void(int64_t)>& work);

}  // namespace warpwright
