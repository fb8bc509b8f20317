// Program: the fused integer network as a straight list of steps over planned buffers. What tasks, packages and the
// runtime share.
#pragma once

#include <string>
#include <vector>

#include "src/core/workload.h"

namespace warpwright {

struct ProgramTensor {
  std::string name;  // of the ONNX tensor it holds
  TensorForm form;
  int64_t arena_offset = 0;  // bytes into the arena, a multiple of 256; by the memory plan
  int first_step = 0;        // life: written by this step (-1: a graph input)
  int last_step = 0;         // last step that reads it (steps.size(): a graph output)
};

struct ProgramStep {
  Workload workload;
  Values values;
  std::vector<int> inputs;  // indices into tensors, in the order of workload.inputs
  int output = 0;
  std::vector<std::string> onnx_nodes;  // names of the nodes that this step covers
};

/// An input or output of the network, bound to a tensor in nchw layout.
struct ProgramPort {
  std::string name;
  Shape shape;  // as in the model, batch bound, e.g. [1, 3, 224, 224] or [1, 1000]
  DType dtype = DType::f32;
  int tensor = 0;
};

struct Program {
  std::vector<ProgramTensor> tensors;
  std::vector<ProgramStep> steps;
  std::vector<ProgramPort> inputs, outputs;
  int64_t arena_bytes = 0;
};

}  // namespace warpwright
