// Chooses the instruction set at run time.
#include "src/device/virtual/lanes/lanes.h"

namespace warpwright::virtual_gpu {

Handlers lane_handlers(const ptx::Instruction& instruction, bool wide_to, bool wide_from) {
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2 ? lanes_avx2(instruction, wide_to, wide_from) : lanes_baseline(instruction, wide_to, wide_from);
}

}  // namespace warpwright::virtual_gpu
