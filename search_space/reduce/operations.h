// What a reduction does with its parts, as text.
#pragma once

#include <cstdint>
#include <string>

#include "src/core/workload.h"

namespace warpwright::reduction {

/// arg_max or arg_min.
bool gives_index(ReductionOp op);
/// The order of elements and parts changes nothing, so that any number of threads may share a row.
bool is_free_in_order(ReductionOp op);
/// Of a Part in shared memory.
int64_t part_bytes(ReductionOp op);

/// Types X (an element) and Part, and device functions start_part(), taken(part, x, at): the part with the element of
/// index `at`; merged(part, part); finished(part): the result. Of a Part that is no number exchanged(part, distance)
/// too.
std::string operations_source(const Workload& workload);

}  // namespace warpwright::reduction
