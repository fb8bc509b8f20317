// Report: what became of each ONNX node, and why what is in float32 is not in 8 bits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/core/program.h"
#include "src/graph/graph.h"

namespace warpwright {

enum class Precision {
  left_out,  // it cannot be taken, or hangs on what cannot
  folded,    // no step is left of it: constants, Q and DQ that joined others, reshapes
  codes,     // in 8 bits; sums of codes count as such
  edge,      // from float32 to codes or back
  real,      // float32
  integer,   // int32, int64 and booleans outside the quantized arithmetic
};
std::string_view name(Precision precision);
/// What a step computes in.
Precision precision_of(const Workload& workload);

struct NodeReport {
  std::string name, op_type;
  Precision precision = Precision::folded;
  std::vector<size_t> steps;  // of the Program
  std::string why_real;       // why it is not in 8 bits, or left out; empty when it is, or when nothing is in float32
};

/// One entry for each ONNX node, in the order of the file.
std::vector<NodeReport> report_nodes(const Program& program, const std::vector<OnnxNode>& onnx_nodes,
                                     const std::map<std::string, std::string>& reasons);

/// Nodes with a reason here are left out.
void mark_left_out(std::vector<NodeReport>& reports, const std::map<std::string, std::string>& why_left_out);

/// How much of a Program is in 8 bits.
struct PrecisionShare {
  int64_t steps = 0, multiply_adds = 0;
};
std::map<Precision, PrecisionShare> shares(const Program& program);

}  // namespace warpwright
