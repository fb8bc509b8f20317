// Arithmetic of 32 lanes for hosts with AVX2, BMI2 and FMA.
#define WARPWRIGHT_LANES avx2
#include "src/device/virtual/lanes/dispatch.inl"
