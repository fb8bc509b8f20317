// Reports: precisions of steps, gathered by ONNX node.
#include "src/graph/report.h"

#include <algorithm>

namespace warpwright {

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::left_out:
      return "left out";
    case Precision::folded:
      return "folded";
    case Precision::codes:
      return "8-bit";
    case Precision::edge:
      return "edge";
    case Precision::real:
      return "float32";
    case Precision::integer:
      return "integer";
  }
  return "unknown";
}

Precision precision_of(const Workload& workload) {
  const auto is_real = [](const TensorForm& form) { return form.dtype == DType::f32 || form.dtype == DType::f16; };
  const bool from_real = std::any_of(workload.inputs.begin(), workload.inputs.end(), is_real);
  const bool to_real = is_real(workload.output);
  if (workload.kind == OpKind::quantize || workload.kind == OpKind::dequantize) return Precision::edge;
  if (from_real || to_real) return Precision::real;
  if (!workload.is_real()) return Precision::codes;
  return is_code(workload.output.dtype) ? Precision::codes : Precision::integer;
}

std::vector<NodeReport> report_nodes(const Program& program, const std::vector<OnnxNode>& onnx_nodes,
                                     const std::map<std::string, std::string>& reasons) {
  std::map<std::string, std::vector<size_t>> steps;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    for (const std::string& name : program.steps[i].onnx_nodes) steps[name].push_back(i);
  }
  std::vector<NodeReport> reports;
  for (const OnnxNode& node : onnx_nodes) {
    NodeReport report{node.name, node.op_type, Precision::folded, steps[node.name], {}};
    bool real = false;
    for (const size_t step : report.steps) {
      const Precision precision = precision_of(program.steps[step].workload);
      real |= precision == Precision::real;
      // Of several, the one that stands first in the enumeration.
      if (report.precision == Precision::folded || precision < report.precision) report.precision = precision;
    }
    const auto reason = reasons.find(node.name);
    if (real && reason != reasons.end()) report.why_real = reason->second;
    reports.push_back(std::move(report));
  }
  return reports;
}

void mark_left_out(std::vector<NodeReport>& reports, const std::map<std::string, std::string>& why_left_out) {
  for (NodeReport& report : reports) {
    const auto why = why_left_out.find(report.name);
    if (why == why_left_out.end() || !report.steps.empty()) continue;
    report.precision = Precision::left_out;
    report.why_real = why->second;
  }
}

std::map<Precision, PrecisionShare> shares(const Program& program) {
  std::map<Precision, PrecisionShare> result;
  for (const ProgramStep& step : program.steps) {
    PrecisionShare& share = result[precision_of(step.workload)];
    ++share.steps;
    share.multiply_adds += step.workload.multiply_adds();
  }
  return result;
}

}  // namespace warpwright
