// Family join: each unit of the output finds its part by the part's place in the row, known when compiling.
#include "search_space/join/join.h"

#include <fmt/format.h>

#include <numeric>

#include "search_space/light/copy_family.h"

namespace warpwright {

namespace {

using namespace light;

constexpr size_t kMostParts = 256;  // parameters of a kernel: 4 KB

class JoinFamily final : public CopyFamily {
 public:
  JoinFamily() : CopyFamily("join", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::join) return "it is no join";
    if (workload.inputs.size() > kMostParts) return fmt::format("{} parts", workload.inputs.size());
    return std::nullopt;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    std::vector<KernelArgument> list;
    for (int i = 0; i < static_cast<int>(workload.inputs.size()); ++i) list.push_back(input_argument(workload, i));
    list.push_back(output_argument(workload));
    return list;
  }

  int64_t run_bytes(const Workload& workload) const override {
    const int64_t element = workload.rows.inner * static_cast<int64_t>(size_bytes(workload.output.dtype));
    return std::accumulate(workload.lengths.begin(), workload.lengths.end(), int64_t{0},
                           [&](int64_t unit, int64_t length) { return std::gcd(unit, length * element); });
  }

  std::string unit_text(const Workload& workload, int64_t bytes) const override {
    const int64_t element = workload.rows.inner * static_cast<int64_t>(size_bytes(workload.output.dtype));
    const int64_t row = workload.rows.length * element / bytes;
    std::string text = fmt::format("  [[maybe_unused]] const unsigned row = e / {0}u, at = e % {0}u;\n", row);
    int64_t first = 0;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      const int64_t units = workload.lengths[i] * element / bytes;
      if (i + 1 < workload.inputs.size()) text += fmt::format("  if (at < {}u)", first + units);
      text += fmt::format("  return reinterpret_cast<const Unit*>(x{})[row * {}u + (at - {}u)];\n", i, units, first);
      first += units;
    }
    return text;
  }
};

}  // namespace

const KernelFamily& join_family() {
  static const JoinFamily family;
  return family;
}

}  // namespace warpwright
