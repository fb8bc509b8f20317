// CUDA C++ of one real_direct kernel, and its packed constants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "search_space/real_direct/plan.h"
#include "search_space/source_text.h"
#include "src/core/error.h"

namespace warpwright::real_direct {

namespace {

constexpr char kEntry[] = "real_direct";

using Role = KernelArgument::Role;

const char* const kPlacesText = R"(
  const unsigned item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= kItems) return;
  const int q_block = item % kQBlocks, p_block = item / kQBlocks % kPBlocks, plane = item / (kQBlocks * kPBlocks);
  const int k_block = plane % kKBlocks, image = plane / kKBlocks, group = k_block * kThreadK / kGroupOutputs;
  const int h = p_block * (kRunH * kStrideH) - kPadTop, w = q_block * (kRunW * kStrideW) - kPadLeft - kSkip;
  const long long first_channel = (image * kGroups + group) * kGroupChannels;
  unsigned long long from = global_address(x) + (first_channel * (kH * kW) + (h * kW + w)) * 4;
  const float* weights_from = weights + k_block * (kGroupChannels * kTaps * kThreadK);
  float sums[kThreadK][kRunH][kRunW] = {};
)";

// Rows and vectors of the window that are used follow as arrays.
const char* const kChannelsText = R"(
#pragma unroll {0}
  for (int c = 0; c < kGroupChannels; ++c) {{
#pragma unroll
    for (int r = 0; r < kUsedRows; ++r) {{
      const int y_row = used_rows[r];
      int row[kVectors][kVector];
#pragma unroll
      for (int v = 0; v < kUsedVectors; ++v) {{
        const int vector = used_vectors[v];
#pragma unroll
        for (int i = 0; i < kVector; ++i) row[vector][i] = 0;
        load_words(row[vector], from + (y_row * kW + vector * kVector) * 4, {1});
      }}
#pragma unroll
      for (int p = 0; p < kRunH; ++p) {{
#pragma unroll
        for (int i = 0; i < kKernelH; ++i) {{
          if (p * kStrideH + i * kDilationH != y_row) continue;
#pragma unroll
          for (int j = 0; j < kKernelW; ++j) {{
#pragma unroll
            for (int k = 0; k < kThreadK; ++k) {{
              const float weight = weights_from[(i * kKernelW + j) * kThreadK + k];
#pragma unroll
              for (int q = 0; q < kRunW; ++q) {{
                const int at = kSkip + q * kStrideW + j * kDilationW;
                sums[k][p][q] = __fmaf_rn(__int_as_float(row[at / kVector][at % kVector]), weight, sums[k][p][q]);
              }}
            }}
          }}
        }}
      }}
    }}
    from += static_cast<long long>(kH * kW) * 4;
    weights_from += kTaps * kThreadK;
  }}
)";

const char* const kStoresText = R"(
#pragma unroll
  for (int k = 0; k < kThreadK; ++k) {{
    const int channel = k_block * kThreadK + k;
{0}#pragma unroll
    for (int p = 0; p < kRunH; ++p) {{
      const int p_out = p_block * kRunH + p;
      float* const to = reinterpret_cast<float*>(y) + ((image * kK + channel) * kP + p_out) * kQ;
#pragma unroll
      for (int q = 0; q < kRunW; q += kStoreLanes) {{
        const int q_out = q_block * kRunW + q;
        if ((kP % kRunH == 0 || p_out < kP) && (kQ % kRunW == 0 || q_out < kQ)) {{
          int output[kStoreLanes];
#pragma unroll
          for (int l = 0; l < kStoreLanes; ++l) output[l] = __float_as_int({1});
          store_words(to + q_out, output);
        }}
      }}
    }}
  }}
)";

const char* const kStoreFunctionsText = R"(
__device__ __forceinline__ void store_words(float* to, const int (&words)[4]) {
  *reinterpret_cast<int4*>(to) = make_int4(words[0], words[1], words[2], words[3]);
}
__device__ __forceinline__ void store_words(float* to, const int (&words)[2]) {
  *reinterpret_cast<int2*>(to) = make_int2(words[0], words[1]);
}
__device__ __forceinline__ void store_words(float* to, const int (&words)[1]) { *to = __int_as_float(words[0]); }
)";

std::string constants_of(const Workload& workload, const Plan& plan) {
  const TensorForm &x = workload.inputs[0], &y = workload.output;
  const Window& window = workload.window;
  SourceConstants constants;
  constants.add("H", x.h).add("W", x.w).add("P", y.h).add("Q", y.w).add("K", y.c).add("Groups", workload.groups);
  constants.add("GroupChannels", plan.group_channels).add("GroupOutputs", plan.group_outputs);
  constants.add("KernelH", window.kernel_h).add("KernelW", window.kernel_w).add("Taps", plan.taps);
  constants.add("StrideH", window.stride_h).add("StrideW", window.stride_w);
  constants.add("DilationH", window.dilation_h).add("DilationW", window.dilation_w);
  constants.add("PadTop", window.pad_top).add("PadLeft", window.pad_left).add("Skip", plan.skip);
  constants.add("Threads", plan.threads).add("ThreadK", plan.thread_k).add("RunH", plan.run_h).add("RunW", plan.run_w);
  constants.add("PBlocks", plan.p_blocks).add("QBlocks", plan.q_blocks).add("KBlocks", plan.k_blocks);
  constants.add("Vector", plan.vector).add("Vectors", plan.vectors()).add("StoreLanes", plan.store_lanes);
  return constants.text() + fmt::format("constexpr unsigned kItems = {}u;\n", plan.items);
}

std::string array(const char* name, const char* count, const std::vector<int64_t>& values) {
  return fmt::format("  constexpr int {} = {};\n  constexpr int {}[{}] = {{{}}};\n", count, values.size(), name, count,
                     fmt::join(values, ", "));
}

/// Whether a row, and a vector of it, lie inside the image; `inside` holds the latter.
std::string validity(const Plan& plan) {
  const char* const row = "static_cast<unsigned>(h + y_row) < kH";
  if (plan.leaves_h && plan.leaves_w) return fmt::format("({}) & inside[vector]", row);
  return plan.leaves_h ? row : plan.leaves_w ? "inside[vector]" : "1";
}

const char* const kInsideText = R"(
  bool inside[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) inside[v] = static_cast<unsigned>(w + v * kVector) < kW;
)";

}  // namespace

KernelSource emit_kernel(const Workload& workload, const Config& config) {
  const Plan plan(workload, knobs_of(config));
  const bool bias = workload.epilogue.bias;
  KernelSource kernel;
  kernel.entry = kEntry;
  kernel.arguments = {{Role::input, 0, "", DType::f32}, {Role::constant, 0, "weights", DType::f32}};
  if (bias) kernel.arguments.push_back({Role::constant, 0, "bias", DType::f32});
  kernel.arguments.push_back({Role::output, 0, "", DType::f32});
  kernel.launch.grid = {static_cast<uint32_t>(plan.ctas), 1, 1};
  kernel.launch.block = {static_cast<uint32_t>(plan.threads), 1, 1};
  std::string& text = kernel.source;
  text = "// " + workload.summary() + "\n" + constants_of(workload, plan);
  text += guarded_load_source();
  text += kStoreFunctionsText;
  text += kernel_signature(kernel.entry, kernel.arguments, plan.threads, plan.ctas_per_sm);
  text += array("used_rows", "kUsedRows", used_rows(workload, plan));
  text += array("used_vectors", "kUsedVectors", used_vectors(workload, plan));
  text += kPlacesText;
  if (plan.leaves_w) text += kInsideText;
  text += fmt::format(fmt::runtime(kChannelsText), plan.unroll, validity(plan));
  text += fmt::format(fmt::runtime(kStoresText), bias ? "    const float bias_of = bias[channel];\n" : "",
                      bias ? "__fadd_rn(sums[k][p][q + l], bias_of)" : "sums[k][p][q + l]");
  text += "}\n";
  return kernel;
}

Tensor pack_argument(const Workload& workload, const Plan& plan, const std::string& argument, const Values& values) {
  const bool known = argument == "weights" || (argument == "bias" && workload.epilogue.bias);
  const auto found = values.find(argument);
  if (!known || found == values.end()) {
    throw InternalError(fmt::format("real_direct has no value '{}' for {}", argument, workload.summary()));
  }
  if (argument == "bias" || plan.thread_k == 1) return found->second;
  // [k_block][c, i, j][channel of the block]
  const std::span<const float> weights = found->second.as<float>();
  const int64_t depth = workload.reduction_size();
  Tensor packed(DType::f32, {plan.k_blocks * depth * plan.thread_k});
  const std::span<float> to = packed.as<float>();
  for (int64_t k = 0; k < workload.output.c; ++k) {
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t at = (k / plan.thread_k * depth + i) * plan.thread_k + k % plan.thread_k;
      to[static_cast<size_t>(at)] = weights[static_cast<size_t>(k * depth + i)];
    }
  }
  return packed;
}

}  // namespace warpwright::real_direct
