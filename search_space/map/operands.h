// Operands of a `map`: where the elements of one lie for a vector of the output's elements, and the text that loads
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/core/workload.h"

namespace warpwright::map_kernel {

enum class Access {
  single,   // one element for the whole output
  linear,   // element e of the output takes element e
  aligned,  // neighbours, aligned as the vector
  stepped,  // at even distances, perhaps 0, from the first one's place
  apart,    // each element has to be found by itself
};

/// Neighbouring axes of the output along which an operand goes on in even steps.
struct Stretch {
  int64_t stride = 1;  // output elements from index to index
  int64_t extent = 1;
  int64_t step = 0;  // of the operand
};

struct OperandPlan {
  Access access = Access::single;
  std::vector<Stretch> stretches;  // the fastest first; those with a step of 0 but the fastest are left out

  /// Elements that a vector of the output asks for.
  int64_t loads(int64_t vector) const;
};

OperandPlan plan_operand(const Map& map, const MapOperand& operand, int64_t vector);

/// Whether the kernel takes the operand by value.
bool is_scalar(const Map& map, const MapOperand& operand);

/// Expression (unsigned) of the operand's element for element `e` of the output.
std::string place_text(const OperandPlan& plan, const std::string& e);
/// Statement that fills `to`, an array of kVector elements, for the output elements from `e` on.
std::string load_text(const OperandPlan& plan, const std::string& to, const std::string& pointer, bool has_tail);

}  // namespace warpwright::map_kernel
