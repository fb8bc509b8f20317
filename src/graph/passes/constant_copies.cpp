// Counting copies of constants.
#include "src/graph/passes/constant_copies.h"

#include <fmt/core.h>

#include "src/core/error.h"

namespace warpwright {

void ConstantCopies::add(TensorId constant, const Node& node) {
  const GraphTensor& tensor = graph_.tensor(constant);
  const auto bytes = static_cast<int64_t>(tensor.constant->bytes.size());
  if (held_.insert(constant).second || graph_.constant_budget.take(bytes)) return;
  throw UsageError(
      fmt::format("node '{}': constant \"{}\" of {} bytes would be held by one node more that reads it, and with those "
                  "before that is "
                  "too much for a file of this size",
                  node.name, tensor.name, bytes));
}

}  // namespace warpwright
