// The memory plan: largest tensors first, each into the smallest gap that fits between those alive with it.
#include "src/graph/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace warpwright {

namespace {

int64_t aligned_bytes(const ProgramTensor& tensor) {
  return (tensor.form.buffer_bytes() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

void find_lives(Program& program) {
  for (ProgramTensor& tensor : program.tensors) tensor.first_step = tensor.last_step = -1;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const ProgramStep& step = program.steps[i];
    const int at = static_cast<int>(i);
    ProgramTensor& output = program.tensors[static_cast<size_t>(step.output)];
    output.first_step = at;
    output.last_step = at;
    for (int input : step.inputs) program.tensors[static_cast<size_t>(input)].last_step = at;
  }
  for (const ProgramPort& port : program.outputs) {
    program.tensors[static_cast<size_t>(port.tensor)].last_step = static_cast<int>(program.steps.size());
  }
}

bool alive_together(const ProgramTensor& a, const ProgramTensor& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

/// `placed` is sorted by offset.
int64_t best_offset(const Program& program, const std::vector<size_t>& placed, const ProgramTensor& tensor) {
  const int64_t needed = aligned_bytes(tensor);
  int64_t end = 0, best = -1, best_gap = std::numeric_limits<int64_t>::max();
  for (size_t other_at : placed) {
    const ProgramTensor& other = program.tensors[other_at];
    if (!alive_together(tensor, other)) continue;
    const int64_t gap = other.arena_offset - end;
    if (gap >= needed && gap < best_gap) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, other.arena_offset + aligned_bytes(other));
  }
  return best >= 0 ? best : end;
}

}  // namespace

void plan_memory(Program& program) {
  find_lives(program);
  std::vector<size_t> order(program.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return aligned_bytes(program.tensors[a]) > aligned_bytes(program.tensors[b]);
  });
  std::vector<size_t> placed;
  program.arena_bytes = 0;
  for (size_t at : order) {
    ProgramTensor& tensor = program.tensors[at];
    tensor.arena_offset = best_offset(program, placed, tensor);
    program.arena_bytes = std::max(program.arena_bytes, tensor.arena_offset + aligned_bytes(tensor));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at,
                                   [&](size_t a, size_t b) {
                                     return program.tensors[a].arena_offset < program.tensors[b].arena_offset;
                                   }),
                  at);
  }
}

}  // namespace warpwright
