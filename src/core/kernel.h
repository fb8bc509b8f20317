// A kernel on its way: source and binding from a family, binaries from the compiler.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/core/dtype.h"
#include "src/core/json.h"

namespace warpwright {

struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_smem_bytes = 0;
  bool operator==(const LaunchShape&) const = default;
};

inline constexpr int64_t kMostScratchBytes = int64_t{1} << 34;

/// One parameter of the kernel, in the order of its signature.
struct KernelArgument {
  enum class Role {
    input,      // pointer to data input number `index`
    output,     // pointer to the output
    constant,   // pointer to what KernelFamily::pack gives for `name`
    scalar,     // passed by value: element 0 of what KernelFamily::pack gives for `name`
    workspace,  // pointer to `bytes` of scratch memory with any contents
    counters,   // pointer to `bytes` that are zero before the launch; the kernel leaves them zero
  };
  Role role = Role::input;
  int index = 0;     // inputs only
  std::string name;  // constants and scalars
  DType dtype = DType::s8;
  int64_t bytes = 0;  // workspace and counters: a multiple of 4, up to kMostScratchBytes
  bool operator==(const KernelArgument&) const = default;
};

/// Whether the argument points to scratch memory, which holds `bytes` and no values.
constexpr bool is_scratch(KernelArgument::Role role) {
  return role == KernelArgument::Role::workspace || role == KernelArgument::Role::counters;
}

/// What a family emits for a (Workload, Config, Target).
struct KernelSource {
  std::string entry;   // extern "C" name
  std::string source;  // CUDA C++ without include files; equal for equal (Workload, Config, Target)
  LaunchShape launch;
  std::vector<KernelArgument> arguments;
};

/// What the compiler made of it.
struct CompiledKernel {
  std::string entry;
  std::string arch;  // `sm_89`
  std::string ptx;
  std::string cubin;  // raw bytes
  int registers = 0;
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int64_t static_smem_bytes = 0;
  int64_t local_bytes = 0;
  std::string log;
  std::string compiler;  // `NVRTC 13.0`
};

Json to_json(const LaunchShape& launch);
LaunchShape launch_shape_from_json(const Json& json);
Json to_json(const std::vector<KernelArgument>& arguments);
std::vector<KernelArgument> arguments_from_json(const Json& json);

}  // namespace warpwright
