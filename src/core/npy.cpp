// The .npy format: magic, version, a Python dict as header, raw elements.
#include "src/core/npy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>

#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMostHeaderBytes = 64 * 1024;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw UsageError(fmt::format("'{}' is not a usable .npy file: {}", path.string(), why));
}

/// The text after `'key':` in the header's dict.
std::string_view value_of(const std::filesystem::path& path, std::string_view header, std::string_view key) {
  size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) fail(path, fmt::format("the header has no '{}'", key));
  at = header.find(':', at);
  if (at == std::string_view::npos) fail(path, "the header is cut off");
  header.remove_prefix(at + 1);
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  return header;
}

DType dtype_of(const std::filesystem::path& path, std::string_view value) {
  if (value.size() < 2 || value.front() != '\'') fail(path, "structured element types are not taken");
  std::string descriptor(value.substr(1, value.find('\'', 1) - 1));
  if (descriptor == "<f4") return DType::f32;
  if (descriptor == "<f2") return DType::f16;
  if (descriptor == "<i4") return DType::s32;
  if (descriptor == "<i8") return DType::s64;
  if (descriptor == "|b1") return DType::boolean;
  if (descriptor == "|i1") return DType::s8;
  if (descriptor == "|u1") return DType::u8;
  fail(
      path,
      fmt::format(
          "element type '{}' is not taken; known are float32, float16, int64, int32, int8, uint8, bool (little endian)",
          descriptor));
}

Shape shape_of(const std::filesystem::path& path, std::string_view value) {
  if (value.empty() || value.front() != '(' || value.find(')') == std::string_view::npos) fail(path, "bad shape");
  value = value.substr(1, value.find(')') - 1);
  Shape shape;
  int64_t extent = -1;  // none yet
  for (char c : value) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      extent = std::max<int64_t>(extent, 0) * 10 + (c - '0');
      if (extent > int64_t{1} << 40) fail(path, "an extent of the shape is too large");
    } else if (c == ',') {
      if (extent < 0) fail(path, "bad shape");
      shape.push_back(extent);
      extent = -1;
    } else if (c != ' ') {
      fail(path, "bad shape");
    }
  }
  if (extent >= 0) shape.push_back(extent);
  return shape;
}

std::string_view descriptor_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::s32:
      return "<i4";
    case DType::s64:
      return "<i8";
    case DType::boolean:
      return "|b1";
    case DType::s8:
      return "|i1";
    case DType::u8:
      return "|u1";
  }
  throw InternalError("unknown element type");
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  std::string bytes = read_file(path);
  std::string_view rest = bytes;
  if (rest.substr(0, kMagic.size()) != kMagic || rest.size() < 12) fail(path, "it does not begin as one");
  int major = static_cast<unsigned char>(rest[6]);
  if (major < 1 || major > 3) fail(path, fmt::format("version {} is unknown", major));
  size_t length_bytes = major == 1 ? 2 : 4;
  size_t header_bytes = 0;
  for (size_t i = length_bytes; i-- > 0;) header_bytes = header_bytes << 8 | static_cast<unsigned char>(rest[8 + i]);
  rest.remove_prefix(8 + length_bytes);
  if (header_bytes > rest.size() || header_bytes > kMostHeaderBytes) fail(path, "the header is cut off");
  std::string_view header = rest.substr(0, header_bytes);
  rest.remove_prefix(header_bytes);

  if (value_of(path, header, "fortran_order").substr(0, 5) != "False") fail(path, "Fortran order is not taken");
  DType dtype = dtype_of(path, value_of(path, header, "descr"));
  Shape shape = shape_of(path, value_of(path, header, "shape"));
  int64_t needed = 0;
  if (__builtin_mul_overflow(element_count(shape), static_cast<int64_t>(size_bytes(dtype)), &needed)) {
    fail(path, "the shape is too large");
  }
  if (needed != static_cast<int64_t>(rest.size())) {
    fail(path, fmt::format("{} bytes of elements where its shape needs {}", rest.size(), needed));
  }
  Tensor tensor(dtype, shape);
  if (needed > 0) std::memcpy(tensor.bytes.data(), rest.data(), rest.size());
  if (!holds_booleans(tensor)) fail(path, "an element of type bool is neither 0 nor 1");
  return tensor;
}

bool is_npy(const std::filesystem::path& path) { return first_line(path, kMagic.size()) == kMagic; }

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  std::string shape;
  for (int64_t extent : tensor.shape) shape += fmt::format("{},", extent);
  if (tensor.shape.size() > 1) shape.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor_of(tensor.dtype), shape);
  constexpr size_t kPrefix = 10;
  while ((kPrefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  write_file(path, bytes);
}

}  // namespace warpwright
