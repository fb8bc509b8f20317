// The part of make_example for the float32 kinds.
#pragma once

#include "src/reference/example_random.h"
#include "src/reference/reference.h"

namespace warpwright {

Example make_real_example(const Workload& workload, ExampleRandom& random);

}  // namespace warpwright
