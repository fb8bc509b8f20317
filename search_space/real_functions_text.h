// CUDA C++ of src/core/real_functions.h: basic float32 operations alone, each with its rounding by name.
#pragma once

#include <string>

namespace warpwright {

/// Device functions of floats: real_maximum, real_minimum (NaN if there is one; zeros by their sign), real_exp,
/// real_log, real_error_function, real_tanh, real_sine, real_cosine, real_power, real_remainder; and real_sign.
std::string real_functions_text();

}  // namespace warpwright
