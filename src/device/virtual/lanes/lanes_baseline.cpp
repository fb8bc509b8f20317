// Arithmetic of 32 lanes for any x86-64.
#define WARPWRIGHT_LANES baseline
#include "src/device/virtual/lanes/dispatch.inl"
