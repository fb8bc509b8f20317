// Family gather: each run of inner elements comes from the place that its index names.
#include "search_space/gather/gather.h"

#include <fmt/format.h>

#include "search_space/light/copy_family.h"

namespace warpwright {

namespace {

using namespace light;

class GatherRowsFamily final : public CopyFamily {
 public:
  GatherRowsFamily() : CopyFamily("gather", 1) {}

 private:
  std::optional<std::string> why_foreign(const Workload& workload) const override {
    if (workload.kind != OpKind::gather) return "it is no gather";
    constexpr int64_t kMost = int64_t{1} << 31;
    if (workload.rows.elements() >= kMost) return fmt::format("a table of {} elements", workload.rows.elements());
    return std::nullopt;
  }

  std::vector<KernelArgument> arguments(const Workload& workload) const override {
    const bool has_table = workload.inputs.size() == 1;
    return {has_table ? constant_argument("table", workload.output.dtype) : input_argument(workload, 0),
            input_argument(workload, has_table ? 0 : 1), output_argument(workload)};
  }

  int64_t run_bytes(const Workload& workload) const override {
    return workload.rows.inner * static_cast<int64_t>(size_bytes(workload.output.dtype));
  }

  std::string unit_text(const Workload& workload, int64_t bytes) const override {
    const Rows& rows = workload.rows;
    const bool has_table = workload.inputs.size() == 1;
    const TensorForm& index = workload.inputs.back();
    return fmt::format(kText, fmt::arg("run", run_bytes(workload) / bytes), fmt::arg("picks", index.pixels() * index.c),
                       fmt::arg("length", rows.length), fmt::arg("index_type", element_type(index.dtype)),
                       fmt::arg("index", has_table ? "x0" : "x1"), fmt::arg("from", has_table ? "table" : "x0"));
  }

  static constexpr std::string_view kText = R"(  const unsigned pick = e / {run}u;
  {index_type} at = {index}[pick % {picks}u];
  if (at < 0) at += {length};
  if (at < 0 || at >= {length}) return Unit();
  const unsigned row = pick / {picks}u * {length}u + static_cast<unsigned>(at);
  return reinterpret_cast<const Unit*>({from})[row * {run}u + e % {run}u];
)";
};

}  // namespace

const KernelFamily& gather_family() {
  static const GatherRowsFamily family;
  return family;
}

}  // namespace warpwright
