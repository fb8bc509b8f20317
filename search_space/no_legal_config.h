// What is left to say where a family, or all of them, have no legal Config for a Workload on a card.
#pragma once

#include <string>

#include "src/core/error.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

/// Of a family that takes the Workload: its formula for the default found no legal Config on this card.
class NoLegalConfig : public UsageError {
 public:
  NoLegalConfig(std::string_view family, const Workload& workload, const Target& target);
};

/// That no Config of any family is legal, with the constraints that rule them out and how many points each of them
/// does.
std::string why_no_config(const Workload& workload, const Target& target);

}  // namespace warpwright
