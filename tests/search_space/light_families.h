// The families of light kernels, for their tests.
#pragma once

#include <vector>

#include "search_space/add_mul/add_mul.h"
#include "search_space/concat/concat.h"
#include "search_space/dequantize/dequantize.h"
#include "search_space/gather/gather.h"
#include "search_space/join/join.h"
#include "search_space/layout_change/layout_change.h"
#include "search_space/lookup/lookup.h"
#include "search_space/map/map.h"
#include "search_space/movement/movement.h"
#include "search_space/normalize/normalize.h"
#include "search_space/pool/pool.h"
#include "search_space/quantize/quantize.h"
#include "search_space/real_pool/real_pool.h"
#include "search_space/reduce/reduce.h"
#include "search_space/resample/resample.h"
#include "search_space/softmax/softmax.h"

namespace warpwright::testing {

inline std::vector<const KernelFamily*> light_families() {
  return {&quantize_family(),  &dequantize_family(), &lookup_family(),        &add_mul_family(),
          &pool_family(),      &concat_family(),     &layout_change_family(), &movement_family(),
          &map_family(),       &reduce_family(),     &softmax_family(),       &normalize_family(),
          &real_pool_family(), &resample_family(),   &gather_family(),        &join_family()};
}

}  // namespace warpwright::testing
