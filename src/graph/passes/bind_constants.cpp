// Pass: constants among the inputs of float32 steps become their values; a graph output that is a constant gets a step
// that writes it.
#include "src/graph/passes/constant_copies.h"
#include "src/graph/passes/passes.h"
#include "src/graph/passes/real_step.h"

namespace warpwright {

void bind_constants(Graph& graph) {
  for (GraphOutput& output : graph.outputs) {
    if (!graph.is_constant(output.tensor)) continue;
    const GraphTensor& constant = graph.tensor(output.tensor);
    const DType dtype = constant.dtype;
    Shape shape = constant.shape;
    const TensorId written = graph.add_tensor(output.name, dtype, std::move(shape));
    append_constant(graph, output.tensor, written, {});
    output.tensor = written;
  }
  ConstantCopies copies(graph);
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::step || !node.workload.is_real()) continue;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (becomes_value(graph, node, slot)) copies.add(node.inputs[slot], node);
    }
    place_constants(graph, node);
  }
}

}  // namespace warpwright
