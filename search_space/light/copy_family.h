// CopyFamily: families whose output is made of runs of bytes that lie together in some input, copied in units of a few
// bytes.
#pragma once

#include <string>
#include <vector>

#include "search_space/light/real_family.h"

namespace warpwright::light {

class CopyFamily : public RealFamily {
 public:
  using RealFamily::RealFamily;

 protected:
  /// A number of bytes that divides the length of every run and where each starts, in input and output.
  virtual int64_t run_bytes(const Workload& workload) const = 0;
  /// Body of the device function that gives `Unit` number `e` (unsigned) of the output, in units of `bytes`; the
  /// parameters are those of the kernel but y.
  virtual std::string unit_text(const Workload& workload, int64_t bytes) const = 0;

 private:
  std::vector<Knob> own_knobs(const Workload& workload) const final;
  std::optional<std::string> why_useless(const Workload& workload, const Config& config) const final;
  std::vector<Config> preferences(const Workload& workload) const final;
  LightPlan plan(const Workload& workload, const Config& config) const final;
  Body body(const Workload& workload, const Config& config, const LightPlan& plan) const final;
};

}  // namespace warpwright::light
