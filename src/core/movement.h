// Movement: which element of one tensor each element of another is, by strides: what Transpose, Slice, Pad, Expand and
// nearest Resize do.
#pragma once

#include <cstdint>
#include <vector>

#include "src/core/tensor.h"

namespace warpwright {

struct MovementAxis {
  int64_t extent = 1;
  int64_t step = 0;             // elements of the source from index to index, maybe negative
  int64_t first = 0, last = 1;  // first <= index < last have a source
  bool is_full() const { return first == 0 && last == extent; }
  bool operator==(const MovementAxis&) const = default;
};

/// An element's index falls into one index an axis, the last axis the fastest; its source is start + sum of index *
/// step, if every axis has one there.
struct Movement {
  int64_t start = 0;
  std::vector<MovementAxis> axes;

  int64_t elements() const;
  /// Whether there may be elements without a source.
  bool fills() const;
  /// Whether it takes all of `elements` elements as they come.
  bool is_identity(int64_t elements) const;
  bool operator==(const Movement&) const = default;
};

/// The same movement with as few axes as this finds.
Movement simplified(const Movement& movement);

/// Throws InternalError unless it makes `elements` elements, each source is one of `sources`, and it is simplified.
void check(const Movement& movement, int64_t sources, int64_t elements);

/// The axes of a tensor of this shape as it is; not simplified.
Movement whole(const Shape& shape);
/// Dimension k of the result is dimension order[k] of a tensor of this shape; simplified.
Movement transposition(const Shape& shape, const std::vector<int64_t>& order);

/// A tensor of shape `from` repeated to `to`, a shape that it broadcasts to; not simplified.
Movement expansion(const Shape& from, const Shape& to);

}  // namespace warpwright
