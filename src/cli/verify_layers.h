// Step by step: each kernel of a package beside the reference, alone and within the network.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/cli/comparison.h"
#include "src/cli/tensor_dump.h"
#include "src/core/json.h"
#include "src/runtime/batches.h"
#include "src/runtime/package.h"
#include "src/runtime/session.h"

namespace warpwright {

/// What the reference gives, and the buffers between the steps of each batch when they are asked for.
struct ReferenceRun {
  TensorMap outputs;
  std::vector<std::vector<Tensor>> buffers;  // by batch and step
};
ReferenceRun run_reference_on(const Program& program, const TensorMap& inputs, bool keep_buffers);

/// A step's output that is not the reference's. Tensors of steps lie as in the device's memory: [n,h,w,lanes], lanes of
/// padding included, or [n,c,h,w].
struct WrongStep {
  size_t batch = 0;  // the first in which it is wrong
  Tensor got;
  Difference difference;
};

struct LayerReport {
  std::map<size_t, WrongStep> alone;         // by step: wrong on the reference's inputs
  std::set<size_t> chained;                  // wrong in a run of the network
  std::optional<size_t> first_chained_step;  // the first of those that ran
  WrongStep first_chained;
  bool right() const { return alone.empty() && chained.empty(); }
};

/// Throws UsageError unless model and package have the same steps.
void check_same_network(const Program& model, const Program& package);

/// Collects the steps of a run that differ from the reference's.
class ChainedComparison {
 public:
  ChainedComparison(const Program& program, const ReferenceRun& reference, Tolerance tolerance, LayerReport& report)
      : program_(program), reference_(reference), tolerance_(tolerance), report_(report) {}
  /// For Session::run: the steps of one batch after the other.
  void observe(size_t step, const Tensor& buffer);

 private:
  const Program& program_;
  const ReferenceRun& reference_;
  Tolerance tolerance_;
  LayerReport& report_;
  size_t batch_ = 0;
};

/// Runs each kernel alone on the reference's inputs.
void compare_alone(const Program& program, Session& session, const ReferenceRun& reference, const TensorMap& inputs,
                   const Tolerance& tolerance, LayerReport& report);

void print_layers(const Program& program, const Package& package, const LayerReport& report);
/// Adds `layers`, `chained` and, where a kernel is wrong, `first_wrong_kernel`.
void add_layers(Json& document, const Program& program, const Package& package, const LayerReport& report);

/// The reference's output of every step in the batch of the first wrong one (else the first batch); of each step that
/// is wrong alone, and of the first that is wrong in the chain, both outputs in its batch; the sources of wrong
/// kernels.
void dump_layers(TensorDump& dump, const Program& program, const Package& package, const ReferenceRun& reference,
                 const LayerReport& report);

}  // namespace warpwright
