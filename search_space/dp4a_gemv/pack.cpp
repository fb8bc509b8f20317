// Weights of a dp4a_gemv kernel: [n_tile][warp_n][step][warp_k][column of the thread][lane][16 bytes of K], so that
// each load of a warp is one linear read.
#include "search_space/dp4a_gemv/plan.h"

namespace warpwright::dp4a_gemv {

Tensor pack_weights(const Workload& workload, const Plan& plan, const Values& values) {
  Tensor packed(workload.weight_dtype, {plan.packed_columns() * plan.steps * plan.slices * few_rows::kVectorBytes});
  std::byte* to = packed.bytes.data();
  for (int64_t warp = 0; warp < plan.cut.n_tiles * plan.warps_n; ++warp) {
    for (int64_t step_slice = 0; step_slice < plan.steps * plan.warps_k; ++step_slice) {
      for (int64_t j = 0; j < plan.thread_n; ++j) {
        for (int64_t lane = 0; lane < 32; ++lane, to += few_rows::kVectorBytes) {
          const int64_t position = (warp * plan.lanes_n + lane / plan.lanes_k) * plan.thread_n + j;
          const int64_t k = (step_slice * plan.lanes_k + lane % plan.lanes_k) * few_rows::kVectorBytes;
          few_rows::copy_weights(workload, plan.shape, values, plan.channel_at(position), k, to);
        }
      }
    }
  }
  return packed;
}

}  // namespace warpwright::dp4a_gemv
