// RealFamily: what the light families of the float32 kinds have in common. Their tensors are linear, so an item is a
// vector of neighbouring elements; indices are 32 bits wide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "search_space/light/light_family.h"

namespace warpwright::light {

class RealFamily : public LightFamily {
 public:
  using LightFamily::LightFamily;

 private:
  /// Vector<T, count>, load_vector, store_vector, load_some, store_some.
  std::string_view access_source() const final;
};

/// Elements of a vector: powers of two up to 16 bytes of elements of `bytes` each.
std::vector<int64_t> element_vectors(int64_t bytes);
/// The parameter as a pointer to its elements: codes come as unsigned char.
std::string element_pointer(const std::string& parameter, DType dtype);

/// The functions of real_functions_text.h, and largest(a, b), smallest(a, b) of float and int.
std::string real_source();

}  // namespace warpwright::light
