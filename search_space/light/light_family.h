// LightFamily: what the families of memory-bound kernels have in common. Their work falls into items, mostly a pixel
// and a vector of its lanes; CTAs of `threads` take them one behind the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search_space/kernel_family.h"

namespace warpwright::light {

/// The launch of a Config, and what it moves.
struct LightPlan {
  int64_t threads = 0;  // a CTA
  int64_t items = 0;    // of the whole grid
  int64_t items_per_cta = 1;
  int64_t smem_bytes = 0;  // a CTA
  int64_t registers = 0;   // a thread, estimated
  int64_t load_bytes = 0, store_bytes = 0;
  int64_t smem_bytes_moved = 0;

  int64_t ctas() const;
};

class LightFamily : public KernelFamily {
 public:
  LightFamily(std::string_view name, int space_version) : name_(name), space_version_(space_version) {}

  std::string_view name() const final { return name_; }
  int space_version() const final { return space_version_; }
  std::optional<std::string> why_unsupported(const Workload& workload, const Target& target) const final;
  Space space(const Workload& workload, const Target& target) const final;
  Config default_config(const Workload& workload, const Target& target) const final;
  Resources resources(const Workload& workload, const Config& config, const Target& target) const final;
  KernelSource emit(const Workload& workload, const Config& config, const Target& target) const final;
  /// Every constant and scalar of a light kernel is the value of its name, as it is.
  Tensor pack(const Workload& workload, const Config& config, const std::string& argument,
              const Values& values) const final;

 protected:
  /// Without the limits on sizes, which are the same for all.
  virtual std::optional<std::string> why_foreign(const Workload& workload) const = 0;
  /// Beside `threads`, which every family has.
  virtual std::vector<Knob> own_knobs(const Workload& workload) const = 0;
  /// Beside the limits on threads, CTAs and shared memory, which are the same for all.
  virtual std::optional<std::string> why_useless(const Workload& workload, const Config& config) const = 0;
  /// The Configs among which the default is chosen, from the best for a large tensor to the best for a small one;
  /// illegal ones are passed over.
  virtual std::vector<Config> preferences(const Workload& workload) const = 0;
  virtual LightPlan plan(const Workload& workload, const Config& config) const = 0;
  virtual std::vector<KernelArgument> arguments(const Workload& workload) const = 0;
  /// Device functions, and the body of the kernel (without the braces).
  struct Body {
    std::string functions, statements;
  };
  virtual Body body(const Workload& workload, const Config& config, const LightPlan& plan) const = 0;
  /// Device functions for the accesses of all families of a sort, in front of the others.
  virtual std::string_view access_source() const;

  Config config(std::map<std::string, int64_t> knobs) const { return {std::string(name_), space_version_, knobs}; }

 private:
  void require_legal(const Workload& workload, const Config& config, const Target& target) const;

  std::string_view name_;
  int space_version_;
};

/// The C++ type of an element: `float`, `int`, `long long`, `signed char`, `unsigned char` (boolean too).
std::string_view element_type(DType dtype);

// Arguments in the order and with the names that every light kernel uses: x0, x1, ... , constants, scalars, y.
KernelArgument input_argument(const Workload& workload, int index);
KernelArgument output_argument(const Workload& workload);
KernelArgument constant_argument(const std::string& name, DType dtype);
KernelArgument scalar_argument(const std::string& name, DType dtype);
/// pad_code, for an output whose kernel writes pad lanes.
void append_pad_argument(const Workload& workload, std::vector<KernelArgument>& arguments);
/// The text that stands for pad_code in the body.
std::string pad_text(const Workload& workload);

/// Vectors that are aligned in the form: 4, 8, 16 as far as pixel stride and offset allow.
std::vector<int64_t> vector_widths(const TensorForm& form);

}  // namespace warpwright::light
