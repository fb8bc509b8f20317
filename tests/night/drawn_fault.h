// Which kernels of a night fail, and how: drawn by the hash of their source, so that worker and suite agree without a
// word.
#pragma once

#include <stdlib.h>

#include <array>
#include <optional>
#include <string>

#include "src/core/outcome.h"

namespace warpwright {

struct DrawnFault {
  const char* name;
  bool is_compiler = false;  // strikes while compiling, else when the kernel is loaded
  bool strikes_once = false;
  OutcomeKind outcome;  // that the record must have
};

/// One kernel in so many is drawn.
inline constexpr unsigned kFaultInterval = 50;

inline constexpr std::array<DrawnFault, 12> kDrawnFaults{{
    {"compile_error", true, false, OutcomeKind::compile_error},
    {"compile_abort", true, false, OutcomeKind::compile_error},
    {"compile_hang", true, false, OutcomeKind::compile_timeout},
    {"segv", false, false, OutcomeKind::crashed},
    {"exit", false, false, OutcomeKind::crashed},
    {"memory_fault", false, false, OutcomeKind::memory_fault},
    {"hang", false, false, OutcomeKind::run_timeout},
    {"wrong", false, false, OutcomeKind::wrong_result},
    // Transient: the second try is as if nothing had been.
    {"out_of_memory", false, true, OutcomeKind::ok},
    {"environment", true, true, OutcomeKind::ok},
    {"killed", false, true, OutcomeKind::ok},
    {"halt", false, true, OutcomeKind::ok},
}};

/// Environment: a folder for what struck once, whether compiler and device are stand-ins that cost no time, and whether
/// nothing is drawn.
inline constexpr const char* kNightFolderVariable = "WARPWRIGHT_NIGHT_FOLDER";
inline constexpr const char* kNightStandInVariable = "WARPWRIGHT_NIGHT_STAND_IN";
inline constexpr const char* kNightCalmVariable = "WARPWRIGHT_NIGHT_CALM";

/// The fault of a kernel by the SHA-256 of its source, in hexadecimal.
inline std::optional<DrawnFault> drawn_fault(const std::string& source_hash) {
  if (getenv(kNightCalmVariable) != nullptr) return std::nullopt;
  const unsigned long number = std::stoul(source_hash.substr(0, 12), nullptr, 16);
  if (number % kFaultInterval != 0) return std::nullopt;
  return kDrawnFaults[number / kFaultInterval % kDrawnFaults.size()];
}

}  // namespace warpwright
