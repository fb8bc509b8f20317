// What a card can hold of a kernel, as sentences for the constraints of spaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/core/target.h"

namespace warpwright {

/// What the CTAs of a kernel ask of an SM.
struct SmDemand {
  int64_t smem_bytes = 0;  // a CTA
  int64_t registers = 0;   // a thread
  int64_t threads = 0;     // a CTA
  int64_t ctas_per_sm = 1;
};

/// nullopt, or which limit of the card keeps the CTAs from running on one SM together.
std::optional<std::string> why_too_much(const SmDemand& demand, const Target& target);

}  // namespace warpwright
