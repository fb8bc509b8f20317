// KernelFamily: a way to compute some Workloads. One folder a family: its space beside its emitter.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search_space/space.h"
#include "src/core/kernel.h"
#include "src/core/target.h"
#include "src/core/workload.h"

namespace warpwright {

/// What a Config asks of the card, by arithmetic alone; the same numbers serve constraints, emitter and features.
struct Resources {
  int64_t threads = 0;          // a CTA
  int64_t ctas = 0;             // the grid
  int64_t smem_bytes = 0;       // a CTA, static and dynamic
  int64_t registers = 0;        // a thread, estimated
  int64_t inner_products = 0;   // dp4a, or float32 fma, of the whole grid, padding included; 0 for light families
  int64_t tensor_products = 0;  // multiply-adds on tensor cores of the whole grid, padding included
  int64_t tensor_depth = 32;    // of K an instruction: 32 m16n8k32, 16 m8n8k16
  int64_t global_load_bytes = 0, global_store_bytes = 0;  // asked of L2 by the whole grid, the workspace left out
  int64_t workspace_bytes = 0;     // partial sums that the whole grid writes and reads back; 0 without split K
  int64_t smem_bytes_moved = 0;    // shared-memory reads and writes of the whole grid
  int64_t other_instructions = 0;  // of warps in the main loops, beside the products; 0: guessed from the bytes
  // The main loop of a CTA: how often it goes on to the next part of its shared memory (0: unknown), and how many parts
  // there are, of which all but one are filled ahead.
  int64_t steps = 0, stages = 1;
};

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  virtual std::string_view name() const = 0;
  /// Changes when a Config comes to mean other code.
  virtual int space_version() const = 0;
  /// nullopt when the family takes the Workload on this Target, else why not.
  virtual std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const = 0;

  // The following need a supported Workload, the ones with a Config a legal one; else InternalError.
  virtual Space space(const Workload& workload, const Target& target) const = 0;
  /// Safe and good without measuring: the start of every search.
  virtual Config default_config(const Workload& workload, const Target& target) const = 0;
  /// Legal Configs that are worth measuring first, the most promising first: tiles that vendors' libraries use.
  virtual std::vector<Config> seeds(const Workload&, const Target&) const { return {}; }
  virtual Resources resources(const Workload& workload, const Config& config, const Target& target) const = 0;
  virtual KernelSource emit(const Workload& workload, const Config& config, const Target& target) const = 0;
  /// The constant or scalar `argument` of the emitted kernel, from canonical Values, in the layout the Config asks for.
  virtual Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
                      const Values& values) const = 0;
};

/// The one explicit list of families. Which of them gives the default of a Workload: cost_model/default_config.h.
const std::vector<const KernelFamily*>& kernel_families();
/// Families that take the Workload on this Target. Empty: no kernel can run it.
std::vector<const KernelFamily*> families_for(const Workload& workload, const Target& target);
/// Null when there is none of that name.
const KernelFamily* family_named(std::string_view name);

/// That no kernel can run the Workload, with the reason of each family.
std::string why_unsupported(const Workload& workload, const Target& target);
/// nullopt, or why today's space does not hold the Config (unknown family, other version, knobs, constraints).
std::optional<std::string> why_illegal(const Workload& workload, const Config& config, const Target& target);
/// The family of the Config; throws UsageError when it is unknown.
const KernelFamily& family_of(const Config& config);

/// All arguments of role constant and scalar, packed, in the order of `kernel.arguments` (others are empty tensors).
std::vector<Tensor> pack_arguments(const Workload& workload, const Config& config, const KernelSource& kernel,
                                   const Values& values);

}  // namespace warpwright
