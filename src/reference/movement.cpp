// concat, layout, move, gather and join: elements move, none change.
#include <algorithm>
#include <cstring>

#include "src/reference/operators.h"
#include "src/reference/parallel.h"
#include "src/reference/tensor_view.h"

namespace warpwright {

void run_concat(const Operation& operation) {
  const TensorForm& form = operation.workload.output;
  const TensorView to(form);
  const auto y = operation.output.as<uint8_t>();
  int64_t channel = 0;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const TensorForm& part = operation.workload.inputs[i];
    const TensorView from(part);
    const auto x = operation.inputs[i]->as<uint8_t>();
    for (int64_t pixel = 0; pixel < form.pixels(); ++pixel) {
      std::copy_n(&x[from.base + pixel * from.stride_w], part.c, &y[to.base + pixel * to.stride_w + channel]);
    }
    channel += part.c;
  }
}

namespace {

/// Offset of element `linear` in NCHW order.
int64_t offset_of(const TensorForm& form, const TensorView& view, int64_t linear) {
  const int64_t w = linear % form.w, rest = linear / form.w;
  const int64_t h = rest % form.h, planes = rest / form.h;
  return view.at(planes / form.c, h, w, planes % form.c);
}

template <typename Element>
void move_elements(const Operation& operation) {
  const TensorForm& x_form = operation.workload.inputs[0];
  const TensorForm& y_form = operation.workload.output;
  const TensorView from(x_form), to(y_form);
  const auto x = operation.inputs[0]->as<Element>();
  const auto y = operation.output.as<Element>();
  const int64_t elements = y_form.pixels() * y_form.c;
  constexpr int64_t kBlock = 1 << 14;
  parallel_for((elements + kBlock - 1) / kBlock, [&](int64_t block) {
    for (int64_t i = block * kBlock; i < std::min(elements, (block + 1) * kBlock); ++i) {
      y[offset_of(y_form, to, i)] = x[offset_of(x_form, from, i)];
    }
  });
}

}  // namespace

void run_layout(const Operation& operation) {
  if (operation.workload.output.dtype == DType::s32) {
    move_elements<int32_t>(operation);
  } else {
    move_elements<uint8_t>(operation);
  }
}

namespace {

/// Element of the input that belongs at element `e` of the output, both in NCHW order; -1 for none.
int64_t source_of(const Movement& movement, int64_t e) {
  int64_t source = movement.start;
  bool exists = true;
  for (size_t k = movement.axes.size(); k-- > 0;) {
    const MovementAxis& axis = movement.axes[k];
    const int64_t index = e % axis.extent;
    e /= axis.extent;
    exists &= index >= axis.first && index < axis.last;
    source += index * axis.step;
  }
  return exists ? source : -1;
}

template <typename Element>
void gather_elements(const Operation& operation) {
  const TensorForm& x_form = operation.workload.inputs[0];
  const TensorForm& y_form = operation.workload.output;
  const TensorView from(x_form), to(y_form);
  const auto x = operation.inputs[0]->as<Element>();
  const auto y = operation.output.as<Element>();
  Element fill{};
  if (const auto value = operation.values.find("fill"); value != operation.values.end()) {
    // Of a code or boolean: the low byte; s64: the same number.
    const int64_t number = value->second.as<int32_t>()[0];
    std::memcpy(&fill, &number, sizeof fill);
  }
  const int64_t elements = y_form.pixels() * y_form.c;
  constexpr int64_t kBlock = 1 << 14;
  parallel_for((elements + kBlock - 1) / kBlock, [&](int64_t block) {
    for (int64_t e = block * kBlock; e < std::min(elements, (block + 1) * kBlock); ++e) {
      const int64_t source = source_of(operation.workload.movement, e);
      y[offset_of(y_form, to, e)] = source < 0 ? fill : x[offset_of(x_form, from, source)];
    }
  });
}

}  // namespace

void run_move(const Operation& operation) {
  switch (size_bytes(operation.workload.output.dtype)) {
    case 1:
      return gather_elements<uint8_t>(operation);
    case 4:
      return gather_elements<uint32_t>(operation);
    default:
      return gather_elements<uint64_t>(operation);
  }
}

void run_gather(const Operation& operation) {
  const Workload& workload = operation.workload;
  const Rows& rows = workload.rows;
  const Tensor& x = workload.inputs.size() == 2 ? *operation.inputs[0] : operation.values.at("table");
  const Tensor& indices = *operation.inputs.back();
  const int64_t bytes = rows.inner * static_cast<int64_t>(size_bytes(x.dtype));
  std::byte* to = operation.output.bytes.data();
  for (int64_t o = 0; o < rows.outer; ++o) {
    for (int64_t j = 0; j < indices.size(); ++j, to += bytes) {
      const auto at = static_cast<size_t>(j);
      int64_t index = indices.dtype == DType::s64 ? indices.as<int64_t>()[at] : indices.as<int32_t>()[at];
      if (index < 0) index += rows.length;
      if (index >= 0 && index < rows.length) std::copy_n(&x.bytes[(o * rows.length + index) * bytes], bytes, to);
    }
  }
}

void run_join(const Operation& operation) {
  const Workload& workload = operation.workload;
  const int64_t element = static_cast<int64_t>(size_bytes(workload.output.dtype)) * workload.rows.inner;
  std::byte* to = operation.output.bytes.data();
  for (int64_t o = 0; o < workload.rows.outer; ++o) {
    for (size_t k = 0; k < operation.inputs.size(); ++k) {
      const int64_t bytes = workload.lengths[k] * element;
      to = std::copy_n(&operation.inputs[k]->bytes[o * bytes], bytes, to);
    }
  }
}

}  // namespace warpwright
