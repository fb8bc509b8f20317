// resample: plane by plane.
#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/real_functions.h"

namespace warpwright {

void run_resample(const Operation& operation) {
  const Workload& workload = operation.workload;
  const TensorForm &x_form = workload.inputs[0], &y_form = workload.output;
  const int64_t h_taps = workload.h_taps, w_taps = workload.w_taps;
  const int32_t* h_index = operation.values.at("h_index").as<int32_t>().data();
  const int32_t* w_index = operation.values.at("w_index").as<int32_t>().data();
  const float* h_weight = operation.values.at("h_weight").as<float>().data();
  const float* w_weight = operation.values.at("w_weight").as<float>().data();
  const float* x = operation.inputs[0]->as<float>().data();
  float* y = operation.output.as<float>().data();
  parallel_for(y_form.n * y_form.c, [&](int64_t plane) {
    const float* from = x + plane * x_form.h * x_form.w;
    float* to = y + plane * y_form.h * y_form.w;
    for (int64_t p = 0; p < y_form.h; ++p) {
      for (int64_t q = 0; q < y_form.w; ++q) {
        float sum = 0;
        for (int64_t i = p * h_taps; i < (p + 1) * h_taps; ++i) {
          float r = 0;
          for (int64_t j = q * w_taps; j < (q + 1) * w_taps; ++j) {
            r = real::fma(w_weight[j], from[h_index[i] * x_form.w + w_index[j]], r);
          }
          sum = real::fma(h_weight[i], r, sum);
        }
        *to++ = sum;
      }
    }
  });
}

}  // namespace warpwright
