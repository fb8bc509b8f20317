// Windows of pools.
#include "search_space/light/window.h"

#include "search_space/source_text.h"

namespace warpwright::light {

namespace {

bool all_inside(const Workload& workload) {
  const Window& window = workload.window;
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  return window.pad_top == 0 && window.pad_left == 0 &&
         (y.h - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h < x.h &&
         (y.w - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w < x.w;
}

}  // namespace

std::string window_constants(const Workload& workload) {
  const Window& window = workload.window;
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  return SourceConstants()
      .add("KernelH", window.kernel_h)
      .add("KernelW", window.kernel_w)
      .add("StrideH", window.stride_h)
      .add("StrideW", window.stride_w)
      .add("DilationH", window.dilation_h)
      .add("DilationW", window.dilation_w)
      .add("PadTop", window.pad_top)
      .add("PadLeft", window.pad_left)
      .add("PadBottom", window.pad_bottom)
      .add("PadRight", window.pad_right)
      .add("H", x.h)
      .add("W", x.w)
      .add("OutH", y.h)
      .add("OutW", y.w)
      .add("AllInside", all_inside(workload))
      .add("IncludePad", workload.count_include_pad)
      .text();
}

std::string_view tap_count_source() {
  return R"(
// Taps i of [0, kernel) with lo <= start + i * dilation < hi.
__device__ __forceinline__ int tap_count(int start, int kernel, int dilation, int lo, int hi) {
  const int first = start < lo ? (lo - start + dilation - 1) / dilation : 0;
  const int end = start < hi ? min((hi - start + dilation - 1) / dilation, kernel) : 0;
  return max(end - first, 0);
}
)";
}

}  // namespace warpwright::light
