// The columns: Workload, Target, family, knobs, resources, bounds.
#include "cost_model/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cost_model/analytic_estimate.h"
#include "search_space/kernel_family.h"
#include "src/core/error.h"

namespace warpwright {
namespace {

constexpr size_t kFamilySlots = 48;  // families, and room for more
constexpr int kKnobSlots = 32;

/// Collects values, and their names when asked: one order for both.
class Row {
 public:
  explicit Row(std::vector<float>* values, std::vector<std::string>* names = nullptr)
      : values_(values), names_(names) {}

  void add(std::string_view name, double value) {
    values_->push_back(std::isfinite(value) ? static_cast<float>(value) : 0.0f);
    if (names_ != nullptr) names_->emplace_back(name);
  }
  void add_log(std::string_view name, double value) { add(name, std::log2(1 + std::max(0.0, value))); }
  void add_slots(std::string_view name, std::span<const double> slots) {
    for (size_t i = 0; i < slots.size(); ++i) add(names_ ? fmt::format("{}_{}", name, i) : std::string(), slots[i]);
  }

 private:
  std::vector<float>* values_;
  std::vector<std::string>* names_;
};

/// What the float32 kinds have beside tensors and windows.
void add_real_workload(Row& row, const Workload& workload) {
  row.add_log("rows_outer", static_cast<double>(workload.rows.outer));
  row.add_log("rows_length", static_cast<double>(workload.rows.length));
  row.add_log("rows_inner", static_cast<double>(workload.rows.inner));
  row.add("reduction_operation", static_cast<double>(workload.reduction));
  row.add("map_extents", static_cast<double>(workload.map.extents.size()));
  row.add("map_operands", static_cast<double>(workload.map.operands.size()));
  row.add("map_instructions", static_cast<double>(workload.map.instructions.size()));
  row.add_log("resample_taps", static_cast<double>(workload.h_taps * workload.w_taps));
}

void add_workload(Row& row, const Workload& workload) {
  const TensorForm& x = workload.inputs.front();
  const TensorForm& y = workload.output;
  const Window& window = workload.window;
  row.add("kind", static_cast<double>(workload.kind));
  row.add("inputs", static_cast<double>(workload.inputs.size()));
  row.add_log("x_pixels", static_cast<double>(x.pixels()));
  row.add_log("x_channels", static_cast<double>(x.c));
  row.add_log("y_pixels", static_cast<double>(y.pixels()));
  row.add_log("y_channels", static_cast<double>(y.c));
  row.add_log("y_width", static_cast<double>(y.w));
  row.add_log("groups", static_cast<double>(workload.groups));
  row.add("kernel_h", static_cast<double>(window.kernel_h));
  row.add("kernel_w", static_cast<double>(window.kernel_w));
  row.add("stride", static_cast<double>(window.stride_h * window.stride_w));
  row.add("dilation", static_cast<double>(window.dilation_h * window.dilation_w));
  row.add("is_padded", window.pad_top + window.pad_left + window.pad_bottom + window.pad_right > 0);
  row.add_log("reduction", workload.multiply_adds() > 0 ? static_cast<double>(workload.reduction_size()) : 0);
  row.add_log("batch", static_cast<double>(workload.batch));
  row.add("is_transposed", workload.transposed);
  row.add("output_element_bytes", static_cast<double>(size_bytes(y.dtype)));
  row.add_log("multiply_adds", static_cast<double>(workload.multiply_adds()));
  row.add_log("least_bytes", static_cast<double>(least_bytes(workload)));
  row.add("has_bias", workload.epilogue.bias);
  row.add("residual", static_cast<double>(workload.epilogue.residual));
  row.add("has_table", workload.epilogue.table);
  row.add("x_zero_point", static_cast<double>(workload.x_zero_point));
  row.add("weight_zero_point", static_cast<double>(workload.weight_zero_point));
  add_real_workload(row, workload);
}

void add_target(Row& row, const Target& target) {
  row.add("compute_capability", target.compute_capability());
  row.add_log("sm_count", target.sm_count);
  row.add_log("smem_per_sm", static_cast<double>(target.smem_per_sm_bytes));
  row.add_log("l2_bytes", static_cast<double>(target.l2_bytes));
  row.add_log("sm_clock", target.sm_clock_mhz);
  row.add_log("memory_bandwidth", target.memory_gb_per_s);
}

/// Place of the family in the list of all; unknown ones share the last slot.
size_t family_slot(const std::string& family) {
  const auto& families = kernel_families();
  const auto found = std::ranges::find(families, family, &KernelFamily::name);
  return std::min(kFamilySlots - 1, static_cast<size_t>(found - families.begin()));
}

/// Knobs in the order of their names: a knob has one slot within its family and space version. More knobs than slots
/// share them.
void add_config(Row& row, const Config& config) {
  std::vector<double> families(kFamilySlots, 0), knobs(kKnobSlots, -1);
  families[family_slot(config.family)] = 1;
  size_t slot = 0;
  for (const auto& [name, value] : config.knobs) {
    const double log = std::copysign(std::log2(1 + std::abs(static_cast<double>(value))), static_cast<double>(value));
    knobs[slot % kKnobSlots] += 1 + log;
    ++slot;
  }
  row.add_slots("family", families);
  row.add_slots("knob", knobs);
}

void add_resources(Row& row, const Resources& resources, const AnalyticEstimate& estimate, const Target& target,
                   double outputs) {
  const double threads = static_cast<double>(std::max<int64_t>(1, resources.threads));
  const double ctas = static_cast<double>(std::max<int64_t>(1, resources.ctas));
  const double products = static_cast<double>(resources.inner_products);
  const double tensor_products = static_cast<double>(resources.tensor_products);
  const double loads = static_cast<double>(std::max<int64_t>(1, resources.global_load_bytes));
  const double smem_moved = static_cast<double>(std::max<int64_t>(1, resources.smem_bytes_moved));
  const double warps = std::ceil(threads / 32) * static_cast<double>(estimate.resident_ctas);
  row.add_log("threads", threads);
  row.add_log("ctas", ctas);
  row.add("smem_share", static_cast<double>(resources.smem_bytes) / std::max<double>(1, target.smem_per_sm_bytes));
  row.add("registers", static_cast<double>(resources.registers));
  row.add_log("inner_products", products);
  row.add_log("tensor_products", tensor_products);
  row.add("tensor_depth", tensor_products > 0 ? static_cast<double>(resources.tensor_depth) : 0);
  row.add_log("steps", static_cast<double>(resources.steps));
  row.add("stages", static_cast<double>(resources.stages));
  row.add_log("workspace_bytes", static_cast<double>(resources.workspace_bytes));
  row.add_log("products_per_thread", products / ctas / threads);
  row.add_log("outputs_per_thread", outputs / ctas / threads);
  row.add_log("global_load_bytes", loads);
  row.add_log("global_store_bytes", static_cast<double>(resources.global_store_bytes));
  row.add_log("smem_bytes_moved", smem_moved);
  row.add_log("products_per_load_byte", products / loads);
  row.add_log("products_per_smem_byte", products / smem_moved);
  row.add_log("tensor_products_per_load_byte", tensor_products / loads);
  row.add_log("tensor_products_per_smem_byte", tensor_products / smem_moved);
  row.add_log("tensor_products_per_warp", tensor_products / ctas / std::ceil(threads / 32));
  row.add("resident_ctas", static_cast<double>(estimate.resident_ctas));
  row.add("resident_warps", warps);
  row.add_log("waves", estimate.waves);
  row.add("tail_fill", estimate.tail_fill);
  row.add("wave_use", estimate.waves / std::max(1.0, std::ceil(estimate.waves)));
  row.add("ctas_per_sm", ctas / std::max(1, target.sm_count));
}

/// The bounds as shares of the estimate, and the estimate itself.
void add_bounds(Row& row, const AnalyticEstimate& estimate) {
  row.add("dot_share", estimate.dot_us / estimate.total_us);
  row.add("tensor_share", estimate.tensor_us / estimate.total_us);
  row.add("issue_share", estimate.issue_us / estimate.total_us);
  row.add("smem_share_of_time", estimate.smem_us / estimate.total_us);
  row.add("l2_share", estimate.l2_us / estimate.total_us);
  row.add("dram_share", estimate.dram_us / estimate.total_us);
  row.add("latency_share", estimate.latency_us / estimate.total_us);
  row.add("analytic_log_us", std::log2(estimate.total_us));
}

/// Appends one row; returns the analytic estimate.
double add_row(Row& row, const Workload& workload, const Config& config, const Resources& resources,
               const Target& target) {
  const AnalyticEstimate estimate = estimate_analytically(workload, resources, target);
  add_workload(row, workload);
  add_target(row, target);
  add_config(row, config);
  add_resources(row, resources, estimate, target, static_cast<double>(workload.output.buffer_elements()));
  add_bounds(row, estimate);
  return estimate.total_us;
}

}  // namespace

int feature_version() { return 3; }

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> collected;
    std::vector<float> values;
    Row row(&values, &collected);
    Workload workload;
    workload.inputs = {nhwc_form(DType::s8, 1, 8, 8, 16)};
    workload.output = workload.inputs[0];
    add_row(row, workload, Config{}, Resources{}, Target{});
    return collected;
  }();
  return names;
}

int64_t num_features() { return static_cast<int64_t>(feature_names().size()); }

FeatureRows feature_rows(const Workload& workload, std::span<const Config> configs, const Target& target) {
  FeatureRows rows;
  rows.values.reserve(configs.size() * static_cast<size_t>(num_features()));
  Row row(&rows.values);
  for (const Config& config : configs) {
    const Resources resources = family_of(config).resources(workload, config, target);
    rows.analytic_us.push_back(add_row(row, workload, config, resources, target));
  }
  if (rows.values.size() != configs.size() * static_cast<size_t>(num_features())) {
    throw InternalError("a feature row has another width than its names");
  }
  return rows;
}

}  // namespace warpwright
