// Lanes: the text of vector accesses to channels.
#include "search_space/light/lanes.h"

#include <fmt/format.h>

#include "search_space/arithmetic.h"

namespace warpwright::light {

int64_t access_bytes(const TensorForm& form, int64_t vector) {
  return common_power_of_two(vector, form.pixel_stride, form.channel_offset);
}

int64_t readable_lanes(const TensorForm& form) { return owns_pad_lanes(form) ? form.pixel_stride : form.c; }

int64_t written_lanes(const TensorForm& form) { return owns_pad_lanes(form) ? form.pixel_stride : form.c; }

bool writes_pad(const TensorForm& form) {
  return form.layout == Layout::nhwc && is_code(form.dtype) && written_lanes(form) > form.c;
}

std::string pixel_offset(const TensorForm& form, const std::string& pixel, const std::string& lane) {
  std::string text = form.pixel_stride == 1 ? pixel : fmt::format("({}) * {}", pixel, form.pixel_stride);
  if (form.channel_offset > 0) text += fmt::format(" + {}", form.channel_offset);
  return text + fmt::format(" + {}", lane);
}

std::string_view lane_access_source() {
  return R"(
// Lane i of a vector is byte i % 4 of word i / 4. `lanes` of a vector may be touched; the others read as 0.
template <int kVector, int kAccess>
__device__ __forceinline__ void load_lanes(unsigned (&words)[kVector / 4], const unsigned char* from, int lanes) {
  if (lanes >= kVector) {
    if constexpr (kAccess == 16) {
      const uint4 four = *reinterpret_cast<const uint4*>(from);
      words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
    } else if constexpr (kAccess == 8) {
#pragma unroll
      for (int i = 0; i < kVector / 4; i += 2) {
        const uint2 two = *reinterpret_cast<const uint2*>(from + 4 * i);
        words[i] = two.x, words[i + 1] = two.y;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVector / 4; ++i) words[i] = *reinterpret_cast<const unsigned*>(from + 4 * i);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector / 4; ++i) {
    words[i] = 0;
    if (4 * i + 4 <= lanes) {
      words[i] = *reinterpret_cast<const unsigned*>(from + 4 * i);
    } else {
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        if (4 * i + j < lanes) words[i] |= static_cast<unsigned>(from[4 * i + j]) << (8 * j);
      }
    }
  }
}
template <int kVector, int kAccess>
__device__ __forceinline__ void store_lanes(unsigned char* to, const unsigned (&words)[kVector / 4], int lanes) {
  if (lanes >= kVector) {
    if constexpr (kAccess == 16) {
      *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    } else if constexpr (kAccess == 8) {
#pragma unroll
      for (int i = 0; i < kVector / 4; i += 2) {
        *reinterpret_cast<uint2*>(to + 4 * i) = make_uint2(words[i], words[i + 1]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVector / 4; ++i) *reinterpret_cast<unsigned*>(to + 4 * i) = words[i];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kVector / 4; ++i) {
    if (4 * i + 4 <= lanes) {
      *reinterpret_cast<unsigned*>(to + 4 * i) = words[i];
    } else {
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        if (4 * i + j < lanes) to[4 * i + j] = static_cast<unsigned char>(words[i] >> (8 * j));
      }
    }
  }
}
template <bool kSigned>
__device__ __forceinline__ int lane_code(unsigned word, int byte) {
  if constexpr (kSigned) return static_cast<signed char>(word >> (8 * byte));
  return static_cast<int>((word >> (8 * byte)) & 255u);
}
__device__ __forceinline__ unsigned word_of_codes(int a, int b, int c, int d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}
// The first `channels` bytes of the word, then pad codes.
__device__ __forceinline__ unsigned pad_word(unsigned word, int channels, unsigned pad) {
  if (channels >= 4) return word;
  if (channels <= 0) return pad;
  const unsigned mask = (1u << (8 * channels)) - 1u;
  return (word & mask) | (pad & ~mask);
}
)";
}

std::string store_pixel_source(const TensorForm& form, int64_t vector) {
  const int64_t written = written_lanes(form);
  std::string pad;
  if (writes_pad(form)) {
    pad = fmt::format(R"(  const unsigned pad = (static_cast<unsigned>(pad_code) & 255u) * 0x01010101u;
#pragma unroll
  for (int i = 0; i < {}; ++i) words[i] = pad_word(words[i], {} - lane - 4 * i, pad);
)",
                      vector / 4, form.c);
  }
  const std::string lanes = written % vector == 0 ? fmt::format("{}", vector) : fmt::format("{} - lane", written);
  return fmt::format(R"(
__device__ __forceinline__ void store_pixel(unsigned char* y, int pixel, int lane, unsigned (&words)[{}],
                                            [[maybe_unused]] int pad_code) {{
{}  store_lanes<{}, {}>(y + ({}), words, {});
}}
)",
                     vector / 4, pad, vector, access_bytes(form, vector), pixel_offset(form, "pixel", "lane"), lanes);
}

std::string load_pixel_call(const TensorForm& form, int64_t walked, int64_t vector, const std::string& words,
                            const std::string& pointer, const std::string& pixel, const std::string& lane) {
  const int64_t readable = readable_lanes(form);
  const std::string lanes =
      readable >= round_up(walked, vector) ? fmt::format("{}", vector) : fmt::format("{} - ({})", readable, lane);
  return fmt::format("load_lanes<{}, {}>({}, {} + ({}), {});", vector, access_bytes(form, vector), words, pointer,
                     pixel_offset(form, pixel, lane), lanes);
}

}  // namespace warpwright::light
