// Operations on parts.
#include "search_space/reduce/operations.h"

#include <fmt/format.h>

#include "search_space/light/real_family.h"
#include "src/core/error.h"

namespace warpwright::reduction {

namespace {

struct Operation {
  std::string_view start, taken, merged;  // expressions of part, x; of a, b
};

Operation real_operation(ReductionOp op) {
  switch (op) {
    case ReductionOp::sum:
    case ReductionOp::mean:
      return {"0.0f", "__fadd_rn(part, x)", "__fadd_rn(a, b)"};
    case ReductionOp::sum_square:
      return {"0.0f", "__fmaf_rn(x, x, part)", "__fadd_rn(a, b)"};
    case ReductionOp::sum_abs:
      return {"0.0f", "__fadd_rn(part, fabsf(x))", "__fadd_rn(a, b)"};
    case ReductionOp::product:
      return {"1.0f", "__fmul_rn(part, x)", "__fmul_rn(a, b)"};
    case ReductionOp::max:
      return {"__int_as_float(0xff800000)", "largest(part, x)", "largest(a, b)"};
    case ReductionOp::min:
      return {"__int_as_float(0x7f800000)", "smallest(part, x)", "smallest(a, b)"};
    default:
      throw InternalError("a reduction without a value");
  }
}

// Unsigned, so that it wraps; the largest and smallest have their signs back.
Operation integer_operation(ReductionOp op) {
  switch (op) {
    case ReductionOp::sum:
      return {"0", "part + x", "a + b"};
    case ReductionOp::sum_square:
      return {"0", "part + x * x", "a + b"};
    case ReductionOp::sum_abs:
      return {"0", "part + (static_cast<int>(x) < 0 ? 0u - x : x)", "a + b"};
    case ReductionOp::product:
      return {"1", "part * x", "a * b"};
    case ReductionOp::max:
      return {"0x80000000u", "largest(static_cast<int>(part), static_cast<int>(x))",
              "largest(static_cast<int>(a), static_cast<int>(b))"};
    case ReductionOp::min:
      return {"0x7fffffffu", "smallest(static_cast<int>(part), static_cast<int>(x))",
              "smallest(static_cast<int>(a), static_cast<int>(b))"};
    default:
      throw InternalError("a reduction without a value");
  }
}

constexpr std::string_view kValues = R"(
typedef {} Part;
__device__ __forceinline__ Part start_part() {{ return {}; }}
__device__ __forceinline__ Part taken(Part part, Part x, int) {{ return {}; }}
__device__ __forceinline__ Part merged(Part a, Part b) {{ return {}; }}
__device__ __forceinline__ X finished(Part part) {{ return {}; }}
)";

// kNone stands where there is no element: any element goes before it.
constexpr std::string_view kIndices = R"(
struct Part {{
  X value;
  int at;
}};
constexpr int kNone = -1;
__device__ __forceinline__ bool is_nan(float x) {{ return x != x; }}
__device__ __forceinline__ bool is_nan(int) {{ return false; }}
// Whether a goes before b by its value; a NaN goes first.
__device__ __forceinline__ bool goes_before(X a, X b) {{ return !is_nan(b) && (is_nan(a) || a {} b); }}
__device__ __forceinline__ Part start_part() {{ return {{X(0), kNone}}; }}
__device__ __forceinline__ Part merged(Part a, Part b) {{
  const bool is_b = a.at == kNone || (b.at != kNone && (goes_before(b.value, a.value) ||
                                                        (!goes_before(a.value, b.value) && b.at {} a.at)));
  return is_b ? b : a;
}}
__device__ __forceinline__ Part taken(Part part, X x, int at) {{ return merged(part, {{x, at}}); }}
__device__ __forceinline__ Part exchanged(Part part, int distance) {{
  return {{__shfl_xor_sync(0xffffffffu, part.value, distance), __shfl_xor_sync(0xffffffffu, part.at, distance)}};
}}
__device__ __forceinline__ long long finished(Part part) {{ return part.at; }}
)";

}  // namespace

bool gives_index(ReductionOp op) { return op == ReductionOp::arg_max || op == ReductionOp::arg_min; }

bool is_free_in_order(ReductionOp op) { return gives_index(op) || op == ReductionOp::max || op == ReductionOp::min; }

int64_t part_bytes(ReductionOp op) { return gives_index(op) ? 8 : 4; }

std::string operations_source(const Workload& workload) {
  const ReductionOp op = workload.reduction;
  const bool is_real = workload.inputs[0].dtype == DType::f32;
  std::string text = light::real_source();
  text += fmt::format("typedef {} X;\n", is_real ? "float" : "int");
  if (gives_index(op)) {
    return text + fmt::format(kIndices, op == ReductionOp::arg_max ? ">" : "<", workload.select_last ? ">" : "<");
  }
  const Operation operation = is_real ? real_operation(op) : integer_operation(op);
  const std::string result = op == ReductionOp::mean
                                 ? fmt::format("__fdiv_rn(part, __ll2float_rn({}ll))", workload.rows.length)
                                 : "static_cast<X>(part)";
  return text + fmt::format(kValues, is_real ? "float" : "unsigned", operation.start, operation.taken, operation.merged,
                            result);
}

}  // namespace warpwright::reduction
