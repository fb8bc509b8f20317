// A bound on memory that ends the process where it is crossed.
#pragma once

#include <cstdint>

namespace warpwright::testing {

/// From now on the process may hold `bytes` more on its heap: with AddressSanitizer counted at each allocation, else by
/// a limit on its address space. Crossing it ends the process by SIGABRT or std::bad_alloc.
void bound_memory(int64_t bytes);

/// The most that was held at once since the last call, beyond what bound_memory found; 0 without AddressSanitizer.
int64_t take_peak_bytes();

}  // namespace warpwright::testing
