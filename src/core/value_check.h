// ValueCheck: looks values of a Workload up, checks them, and counts them, so that unknown ones show.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "src/core/workload.h"

namespace warpwright {

/// Every failed check throws InternalError that names the value.
class ValueCheck {
 public:
  explicit ValueCheck(const Values& values) : values_(values) {}

  /// The value, of this type and length.
  const Tensor& take(const std::string& name, DType dtype, int64_t length);
  /// A finite and positive f32[1].
  void scale(const std::string& name);
  /// An s32[1] that is a code of `dtype`.
  void zero_point(const std::string& name, DType dtype);
  /// lo <= hi, integers, and both codes of `dtype` once `zero_point` is added (checked only if given).
  void bounds(const std::string& lo_name, const std::string& hi_name,
              std::optional<std::pair<DType, int32_t>> code = std::nullopt);
  int32_t integer(const std::string& name) const { return values_.at(name).as<int32_t>()[0]; }
  /// All values were taken.
  void done() const;

 private:
  const Values& values_;
  size_t taken_ = 0;
};

}  // namespace warpwright
