// Instructions of a `map` as straight CUDA code.
#pragma once

#include <string>

#include "src/core/workload.h"

namespace warpwright::map_kernel {

/// Device functions map_OPERATION(arguments), one a type.
std::string functions_source();

/// Device function `TYPE result(v0, v1, ...)`: an element of the output from one of each operand.
std::string result_source(const Map& map);

/// The C++ type of a value in a register; codes are int.
std::string_view value_type(DType dtype);

}  // namespace warpwright::map_kernel
