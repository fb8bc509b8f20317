// RowFamily: families that go several times through rows or columns of [outer, length, inner] and write as many
// elements as they read.
#pragma once

#include <string>
#include <vector>

#include "search_space/light/real_family.h"
#include "search_space/light/rows.h"

namespace warpwright::light {

class RowFamily : public RealFamily {
 public:
  using RealFamily::RealFamily;

 protected:
  /// How often the kernel reads its input where a lane does not hold all of its elements.
  virtual int64_t passes() const = 0;
  /// Bytes of constants that the kernel reads, all items together.
  virtual int64_t constant_bytes(const Workload& workload) const = 0;
  /// Device functions, behind the constants and those of light/rows.h.
  virtual std::string functions(const Workload& workload) const = 0;
  /// Statements behind the place, the array x[kLoaded][kVector] and for_each_batch(use), which calls use(first) for
  /// the first round of each batch when x holds its vectors. kHeld: there is one batch, which stays in x.
  virtual std::string statements(const Workload& workload) const = 0;

 private:
  std::vector<Knob> own_knobs(const Workload& workload) const final;
  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const final;
  std::vector<Config> preferences(const Workload& workload) const final;
  LightPlan plan(const Workload& workload, const Config& config) const final;
  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const final;
};

}  // namespace warpwright::light
