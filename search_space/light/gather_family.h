// GatherFamily: families whose threads gather one vector of the output each, element by element. Neighbouring threads
// take neighbouring lanes (the output is written coalesced) or, for nhwc outputs, neighbouring pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "search_space/light/light_family.h"

namespace warpwright::light {

/// How a family finds what belongs into the output.
struct Gather {
  std::string functions;   // device functions that the others need
  std::string statements;  // before the first element
  std::string word;        // bits of element `element` of an nchw output, counted in its order, from `x0`
  std::string at_pixel;    // statements that say what `code` needs to know of `pixel` (int)
  std::string code;        // the code at `pixel` and channel `channel` of an nhwc output
};

class GatherFamily : public LightFamily {
 public:
  using LightFamily::LightFamily;

 protected:
  /// Vectors of the output; one of nchw has no alignment but its start's.
  static std::vector<int64_t> widths(const TensorForm& y);
  /// The unsigned C++ type of an element's bits.
  static std::string_view element_bits(DType dtype);
  /// A thread a vector; reads, for the estimate: a sector an element, unless the caches hold it.
  static LightPlan gather_plan(const Workload& workload, const Config& config);
  static Body gather_body(const Workload& workload, const Config& config, const LightPlan& plan, const Gather& gather);
  /// Widest vectors and most threads first.
  std::vector<Config> widest_first(const Workload& workload, int64_t pixels_first) const;

 private:
  std::vector<Knob> own_knobs(const Workload& workload) const override;
  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const override;
};

}  // namespace warpwright::light
