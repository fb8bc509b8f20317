// Reading constants: raw data, typed fields, external files.
#include "src/import/constants.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "src/core/error.h"
#include "src/core/half.h"
#include "src/graph/graph.h"
#include "src/import/attributes.h"
#include "src/import/onnx_file.h"

namespace warpwright {

namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw UsageError(fmt::format("initializer \"{}\": {}", name, what));
}

Shape checked_shape(const onnx::TensorProto& proto, const std::string& name) {
  Shape shape(proto.dims().begin(), proto.dims().end());
  if (shape.size() > 8) fail(name, fmt::format("{} dimensions", shape.size()));
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) fail(name, fmt::format("dimension {} is {}", i, shape[i]));
    if (__builtin_mul_overflow(count, shape[i], &count) || count > kMostElements) {
      fail(name, fmt::format("dimensions {} are too large", to_text(shape)));
    }
  }
  return shape;
}

std::optional<int64_t> parse_number(const std::string& text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  int64_t value = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

/// `location` inside `folder`, links followed.
std::filesystem::path external_path(const std::string& location, const std::string& name,
                                    const std::filesystem::path& folder) {
  const std::filesystem::path relative(location);
  bool outside = location.empty() || relative.is_absolute();
  for (const auto& part : relative) outside |= part == "..";
  std::error_code error;
  const auto root = std::filesystem::weakly_canonical(folder.empty() ? "." : folder, error);
  auto target = error ? root : std::filesystem::weakly_canonical(root / relative, error);
  if (!outside && !error) {
    const auto inner = target.lexically_relative(root);
    outside = inner.empty() || *inner.begin() == "..";
  }
  if (outside || error) {
    fail(name, fmt::format("external file {} lies outside the folder of the model", location));
  }
  return target;
}

FileRange external_range(const onnx::TensorProto& proto, const std::string& name, int64_t needed,
                         const std::filesystem::path& folder) {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length = needed;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "length") length = parse_number(entry.value());
    if (entry.key() == "offset") offset = parse_number(entry.value()).value_or(-1);
  }
  if (offset < 0 || !length) fail(name, "offset or length of its external data is no number");
  if (*length != needed) fail(name, fmt::format("{} bytes of external data, its shape needs {}", *length, needed));
  const auto path = external_path(location, name, folder);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail(name, fmt::format("external file {} is missing", location));
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error || offset > size || needed > size - offset) {
    fail(name, fmt::format("bytes {} to {} of external file {}, which has {}", offset, offset + needed, location,
                           error ? 0 : size));
  }
  return {path, offset, needed};
}

template <typename T, typename Field>
std::string typed_bytes(const Field& field, const std::string& name) {
  std::string bytes(sizeof(T) * static_cast<size_t>(field.size()), '\0');
  for (int i = 0; i < field.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      if (field.Get(i) < std::numeric_limits<T>::min() || field.Get(i) > std::numeric_limits<T>::max()) {
        fail(name, fmt::format("element {} is {}, out of range", i, field.Get(i)));
      }
    }
    const T value = static_cast<T>(field.Get(i));
    std::memcpy(bytes.data() + sizeof(T) * static_cast<size_t>(i), &value, sizeof(T));
  }
  return bytes;
}

std::string field_bytes(const onnx::TensorProto& proto, const std::string& name) {
  switch (proto.data_type()) {
    case kFloat32:
      return typed_bytes<float>(proto.float_data(), name);
    case kUint8:
    case kBool:
      return typed_bytes<uint8_t>(proto.int32_data(), name);
    case kInt8:
      return typed_bytes<int8_t>(proto.int32_data(), name);
    case kInt32:
      return typed_bytes<int32_t>(proto.int32_data(), name);
    case kFloat16:
      return typed_bytes<uint16_t>(proto.int32_data(), name);
    case kFloat64:
      return typed_bytes<double>(proto.double_data(), name);
    default:
      return typed_bytes<int64_t>(proto.int64_data(), name);
  }
}

}  // namespace

size_t element_bytes(int type) {
  switch (type) {
    case kFloat32:
    case kInt32:
      return 4;
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kFloat16:
      return 2;
    case kInt64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

OnnxConstant::OnnxConstant(std::string name_, int type_, Shape shape_)
    : name(std::move(name_)), type(type_), shape(std::move(shape_)) {}

OnnxConstant::OnnxConstant(std::string name_, int type_, Shape shape_, std::string bytes)
    : name(std::move(name_)), type(type_), shape(std::move(shape_)), readable_(true), bytes_(std::move(bytes)) {}

OnnxConstant::OnnxConstant(std::string name_, int type_, Shape shape_, FileRange range)
    : name(std::move(name_)), type(type_), shape(std::move(shape_)), readable_(true), range_(std::move(range)) {}

const std::string& OnnxConstant::bytes() const {
  if (!readable_) {
    throw UsageError(fmt::format("constant \"{}\" is {}, which is not supported", name, element_type_name(type)));
  }
  if (range_) {
    std::string bytes(static_cast<size_t>(range_->bytes), '\0');
    read_range(*range_, std::as_writable_bytes(std::span(bytes)));
    bytes_ = std::move(bytes);
    range_.reset();
  }
  return bytes_;
}

void OnnxConstant::copy_to(std::span<std::byte> to) const {
  if (range_) return read_range(*range_, to);
  if (!bytes().empty()) std::memcpy(to.data(), bytes_.data(), bytes_.size());
}

OnnxConstant read_constant(const onnx::TensorProto& proto, const std::string& name, const std::filesystem::path& folder,
                           const std::optional<FileRange>& raw_data) {
  OnnxConstant constant(name, proto.data_type(), checked_shape(proto, name));
  const size_t width = element_bytes(constant.type);
  if (proto.has_segment()) fail(name, "segmented data is not supported");
  if (width == 0) return constant;
  const int64_t needed = constant.size() * static_cast<int64_t>(width);
  const auto check_size = [&](int64_t bytes) {
    if (bytes == needed) return;
    fail(name, fmt::format("{} bytes, shape {} of {} needs {}", bytes, to_text(constant.shape),
                           element_type_name(constant.type), needed));
  };
  if (proto.data_location() == onnx::TensorProto_DataLocation_EXTERNAL) {
    return {name, constant.type, constant.shape, external_range(proto, name, needed, folder)};
  }
  if (raw_data) {
    check_size(raw_data->bytes);
    return {name, constant.type, constant.shape, *raw_data};
  }
  std::string bytes = proto.has_raw_data() ? proto.raw_data() : field_bytes(proto, name);
  check_size(static_cast<int64_t>(bytes.size()));
  return {name, constant.type, constant.shape, std::move(bytes)};
}

OnnxConstant constant_of_node(const onnx::NodeProto& node, const std::filesystem::path& folder) {
  if (node.output_size() != 1 || node.output(0).empty()) throw UsageError("the node has no output");
  Attributes attributes(node);
  onnx::TensorProto made;
  const onnx::TensorProto* value = attributes.tensor("value");
  if (value == nullptr) {
    value = &made;
    made.set_data_type(kFloat32);
    if (attributes.has("value_float")) made.add_float_data(attributes.real("value_float", 0));
    if (attributes.has("value_int")) {
      made.set_data_type(kInt64);
      made.add_int64_data(attributes.integer("value_int", 0));
    }
    if (attributes.has("value_floats")) {
      for (float real : attributes.reals("value_floats")) made.add_float_data(real);
      made.add_dims(made.float_data_size());
    }
    if (attributes.has("value_ints")) {
      made.set_data_type(kInt64);
      for (int64_t integer : attributes.integers("value_ints")) made.add_int64_data(integer);
      made.add_dims(made.int64_data_size());
    }
  }
  attributes.check_all_asked();
  return read_constant(*value, node.output(0), folder);
}

namespace {

template <typename T>
T element_at(const OnnxConstant& constant, int64_t i) {
  T value;
  std::memcpy(&value, constant.bytes().data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

bool is_floating(int type) { return type == kFloat32 || type == kFloat64 || type == kFloat16; }

/// Element `i` of integers or booleans.
int64_t integer_at(const OnnxConstant& constant, int64_t i) {
  switch (constant.type) {
    case kUint8:
    case kBool:
      return element_at<uint8_t>(constant, i);
    case kInt8:
      return element_at<int8_t>(constant, i);
    case kInt32:
      return element_at<int32_t>(constant, i);
    default:
      return element_at<int64_t>(constant, i);
  }
}

/// Element `i` of floating-point numbers.
double real_at(const OnnxConstant& constant, int64_t i) {
  switch (constant.type) {
    case kFloat32:
      return element_at<float>(constant, i);
    case kFloat16:
      return from_half(element_at<uint16_t>(constant, i));
    default:
      return element_at<double>(constant, i);
  }
}

/// From integers to narrower ones the lowest bits.
template <typename T>
T cast_element(const OnnxConstant& constant, int64_t i) {
  if (!is_floating(constant.type)) return static_cast<T>(integer_at(constant, i));
  const double real = real_at(constant, i);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    // Beyond int64 no double is exact; NaN fails too.
    const double whole = std::trunc(real);
    if (!(whole >= static_cast<double>(std::numeric_limits<T>::min()) &&
          whole <= static_cast<double>(std::numeric_limits<T>::max()) && std::abs(whole) < 0x1p53)) {
      throw UsageError(fmt::format("constant \"{}\": {} cannot be cast", constant.name, real));
    }
  }
  return static_cast<T>(real);  // to bool: whether it is not 0
}

template <typename T>
void append_cast(const OnnxConstant& constant, std::string& bytes) {
  for (int64_t i = 0; i < constant.size(); ++i) {
    const T value = cast_element<T>(constant, i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

/// By way of float32, as casts at run time.
void append_half_cast(const OnnxConstant& constant, std::string& bytes) {
  for (int64_t i = 0; i < constant.size(); ++i) {
    const uint16_t half = to_half(cast_element<float>(constant, i));
    bytes.append(reinterpret_cast<const char*>(&half), sizeof half);
  }
}

}  // namespace

OnnxConstant cast_constant(const OnnxConstant& constant, int type) {
  if (constant.is_readable() && constant.type == type) return constant;
  std::string bytes;
  if (constant.is_readable() && type == kFloat32) {
    append_cast<float>(constant, bytes);
  } else if (constant.is_readable() && type == kFloat64) {
    append_cast<double>(constant, bytes);
  } else if (constant.is_readable() && type == kFloat16) {
    append_half_cast(constant, bytes);
  } else if (constant.is_readable() && type == kUint8) {
    append_cast<uint8_t>(constant, bytes);
  } else if (constant.is_readable() && type == kInt8) {
    append_cast<int8_t>(constant, bytes);
  } else if (constant.is_readable() && type == kInt32) {
    append_cast<int32_t>(constant, bytes);
  } else if (constant.is_readable() && type == kInt64) {
    append_cast<int64_t>(constant, bytes);
  } else if (constant.is_readable() && type == kBool) {
    append_cast<bool>(constant, bytes);
  } else {
    throw UsageError(fmt::format("constant \"{}\" from {} to {} is not supported", constant.name,
                                 element_type_name(constant.type), element_type_name(type)));
  }
  return {constant.name, type, constant.shape, std::move(bytes)};
}

std::optional<DType> dtype_of(int type) {
  switch (type) {
    case kFloat32:
      return DType::f32;
    case kInt32:
      return DType::s32;
    case kInt64:
      return DType::s64;
    case kBool:
      return DType::boolean;
    case kUint8:
      return DType::u8;
    case kInt8:
      return DType::s8;
    case kFloat16:
      return DType::f16;
    default:
      return std::nullopt;
  }
}

Tensor to_tensor(const OnnxConstant& constant) {
  const auto dtype = dtype_of(constant.type);
  if (!dtype) {
    throw UsageError(fmt::format("constant \"{}\" is {}, which is not supported here", constant.name,
                                 element_type_name(constant.type)));
  }
  Tensor tensor;
  tensor.dtype = *dtype;
  tensor.shape = constant.shape;
  tensor.bytes.resize(static_cast<size_t>(constant.size()) * size_bytes(tensor.dtype));
  constant.copy_to(tensor.bytes);
  return tensor;
}

std::vector<float> to_reals(const OnnxConstant& constant) {
  if (!is_floating(constant.type)) {
    throw UsageError(
        fmt::format("constant \"{}\" is {}, where float32 is needed", constant.name, element_type_name(constant.type)));
  }
  std::vector<float> values;
  for (int64_t i = 0; i < constant.size(); ++i) {
    const double real = real_at(constant, i);
    values.push_back(static_cast<float>(real));
    if (!std::isnan(real) && static_cast<double>(values.back()) != real) {
      throw UsageError(fmt::format("constant \"{}\": element {} is {}, which float32 does not hold exactly",
                                   constant.name, i, real));
    }
  }
  return values;
}

Shape to_integers(const OnnxConstant& constant) {
  if (constant.type != kInt64) {
    throw UsageError(
        fmt::format("constant \"{}\" is {}, where int64 is needed", constant.name, element_type_name(constant.type)));
  }
  return elements<int64_t>(constant);
}

}  // namespace warpwright
