// Family lookup: codes through a 256-entry table.
#pragma once

#include "search_space/kernel_family.h"

namespace warpwright {

const KernelFamily& lookup_family();

}  // namespace warpwright
