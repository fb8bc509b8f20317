// reduce, softmax and normalize: row by row, in the order of lanes that src/core/workload.h gives.
#include <algorithm>
#include <vector>

#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/real_functions.h"

namespace warpwright {

namespace {

/// The parts of up to 32 lanes: part[l] takes elements l, l + lanes, ...; then halves are joined.
template <typename T, typename Take, typename Join>
T by_lanes(const std::vector<T>& row, size_t lanes, T start, Take take, Join join) {
  T part[32];
  std::fill_n(part, lanes, start);
  for (size_t i = 0; i < row.size(); ++i) part[i % lanes] = take(part[i % lanes], row[i]);
  for (size_t d = lanes / 2; d > 0; d /= 2) {
    for (size_t l = 0; l < d; ++l) part[l] = join(part[l], part[l + d]);
  }
  return part[0];
}

int32_t maximum(int32_t a, int32_t b) { return std::max(a, b); }
int32_t minimum(int32_t a, int32_t b) { return std::min(a, b); }
float maximum(float a, float b) { return real::maximum(a, b); }
float minimum(float a, float b) { return real::minimum(a, b); }

/// Two's complement for s32, so that sums wrap around.
template <typename T>
struct Sums {
  static T add(T a, T b) { return a + b; }
  static T multiply(T a, T b) { return a * b; }
  static T take_square(T part, T x) { return real::fma(x, x, part); }
  static T take_absolute(T part, T x) { return part + std::fabs(x); }
};
template <>
struct Sums<int32_t> {
  static int32_t wrapped(uint32_t value) { return static_cast<int32_t>(value); }
  static int32_t add(int32_t a, int32_t b) { return wrapped(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
  static int32_t multiply(int32_t a, int32_t b) { return wrapped(static_cast<uint32_t>(a) * static_cast<uint32_t>(b)); }
  static int32_t take_square(int32_t part, int32_t x) { return add(part, multiply(x, x)); }
  static int32_t take_absolute(int32_t part, int32_t x) { return add(part, x < 0 ? multiply(x, -1) : x); }
};

template <typename T>
T reduced(ReductionOp op, const std::vector<T>& row, size_t lanes) {
  switch (op) {
    case ReductionOp::sum:
    case ReductionOp::mean: {
      const T sum = by_lanes(row, lanes, T{0}, Sums<T>::add, Sums<T>::add);
      return op == ReductionOp::sum ? sum : sum / static_cast<T>(row.size());
    }
    case ReductionOp::product:
      return by_lanes(row, lanes, T{1}, Sums<T>::multiply, Sums<T>::multiply);
    case ReductionOp::sum_square:
      return by_lanes(row, lanes, T{0}, Sums<T>::take_square, Sums<T>::add);
    case ReductionOp::sum_abs:
      return by_lanes(row, lanes, T{0}, Sums<T>::take_absolute, Sums<T>::add);
    case ReductionOp::max: {
      T most = row[0];
      for (const T x : row) most = maximum(most, x);
      return most;
    }
    default: {
      T least = row[0];
      for (const T x : row) least = minimum(least, x);
      return least;
    }
  }
}

/// First (last) index of the largest or smallest; NaN stands before all numbers.
template <typename T>
int64_t best_index(const std::vector<T>& row, bool largest, bool last) {
  size_t best = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    const T x = row[i], y = row[best];
    const bool x_nan = x != x, y_nan = y != y;
    const bool better = x_nan ? !y_nan : !y_nan && (largest ? x > y : x < y);
    const bool equal = x_nan ? y_nan : x == y;
    if (better || (last && equal)) best = i;
  }
  return static_cast<int64_t>(best);
}

/// Calls `work` with every row of x and the place of its first element, and its step.
template <typename T, typename Work>
void for_each_row(const Tensor& x, const Rows& rows, Work work) {
  const auto elements = x.as<T>();
  constexpr int64_t kBlock = 64;
  const int64_t count = rows.outer * rows.inner;
  parallel_for((count + kBlock - 1) / kBlock, [&](int64_t block) {
    std::vector<T> row(static_cast<size_t>(rows.length));
    for (int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      const int64_t first = i / rows.inner * rows.length * rows.inner + i % rows.inner;
      for (size_t k = 0; k < row.size(); ++k) row[k] = elements[static_cast<size_t>(first) + k * rows.inner];
      work(i, first, row);
    }
  });
}

size_t lanes_of(const Rows& rows) { return rows.inner == 1 ? 32 : 1; }

template <typename T>
void reduce(const Operation& operation) {
  const Workload& workload = operation.workload;
  const ReductionOp op = workload.reduction;
  const bool largest = op == ReductionOp::arg_max, gives_index = largest || op == ReductionOp::arg_min;
  for_each_row<T>(*operation.inputs[0], workload.rows, [&](int64_t i, int64_t, const std::vector<T>& row) {
    const auto at = static_cast<size_t>(i);
    if (gives_index) {
      operation.output.as<int64_t>()[at] = best_index(row, largest, workload.select_last);
    } else {
      operation.output.as<T>()[at] = reduced(op, row, lanes_of(workload.rows));
    }
  });
}

}  // namespace

void run_reduce(const Operation& operation) {
  if (operation.workload.inputs[0].dtype == DType::f32) {
    reduce<float>(operation);
  } else {
    reduce<int32_t>(operation);
  }
}

void run_softmax(const Operation& operation) {
  const Workload& workload = operation.workload;
  const Rows& rows = workload.rows;
  float* y = operation.output.as<float>().data();
  for_each_row<float>(*operation.inputs[0], rows, [&](int64_t, int64_t first, std::vector<float>& row) {
    const float most = reduced(ReductionOp::max, row, 1);
    for (float& x : row) x -= most;
    std::vector<float> e(row.size());
    std::ranges::transform(row, e.begin(), real::exp);
    const float sum = reduced(ReductionOp::sum, e, lanes_of(rows)), log_sum = real::log(sum);
    for (size_t i = 0; i < row.size(); ++i) {
      y[static_cast<size_t>(first) + i * rows.inner] = workload.logarithm ? row[i] - log_sum : e[i] / sum;
    }
  });
}

void run_normalize(const Operation& operation) {
  const Workload& workload = operation.workload;
  const float epsilon = operation.f32("epsilon"), length = static_cast<float>(workload.rows.length);
  const auto scale = operation.values.at("scale").as<float>();
  const float* bias = workload.epilogue.bias ? operation.values.at("bias").as<float>().data() : nullptr;
  float* y = operation.output.as<float>().data();
  for_each_row<float>(*operation.inputs[0], workload.rows, [&](int64_t, int64_t first, std::vector<float>& row) {
    const float mean = workload.centered ? reduced(ReductionOp::mean, row, 32) : 0.0F;
    for (float& x : row) x -= mean;
    const float variance = reduced(ReductionOp::sum_square, row, 32) / length;
    const float r = 1.0F / std::sqrt(variance + epsilon);
    for (size_t i = 0; i < row.size(); ++i) {
      const float d = row[i] * r;
      y[static_cast<size_t>(first) + i] = bias != nullptr ? real::fma(d, scale[i], bias[i]) : d * scale[i];
    }
  });
}

}  // namespace warpwright
