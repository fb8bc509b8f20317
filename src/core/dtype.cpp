// Element types: names, sizes, ranges.
#include "src/core/dtype.h"

#include <fmt/core.h>

#include "src/core/error.h"

namespace warpwright {

size_t size_bytes(DType dtype) {
  switch (dtype) {
    case DType::s8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
      return 2;
    case DType::s32:
    case DType::f32:
      return 4;
    case DType::s64:
      return 8;
  }
  throw InternalError("unknown element type");
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::s8:
      return "s8";
    case DType::u8:
      return "u8";
    case DType::s32:
      return "s32";
    case DType::f32:
      return "f32";
    case DType::s64:
      return "s64";
    case DType::boolean:
      return "boolean";
    case DType::f16:
      return "f16";
  }
  throw InternalError("unknown element type");
}

DType dtype_from_name(std::string_view text) {
  for (DType dtype : {DType::s8, DType::u8, DType::s32, DType::f32, DType::s64, DType::boolean, DType::f16}) {
    if (name(dtype) == text) return dtype;
  }
  throw UsageError(fmt::format("'{}' is no element type; known are s8, u8, s32, f32, s64, boolean, f16", text));
}

bool is_code(DType dtype) { return dtype == DType::s8 || dtype == DType::u8; }

int32_t code_min(DType dtype) {
  if (!is_code(dtype)) throw InternalError(fmt::format("{} has no code range", name(dtype)));
  return dtype == DType::s8 ? -128 : 0;
}

int32_t code_max(DType dtype) {
  if (!is_code(dtype)) throw InternalError(fmt::format("{} has no code range", name(dtype)));
  return dtype == DType::s8 ? 127 : 255;
}

}  // namespace warpwright
