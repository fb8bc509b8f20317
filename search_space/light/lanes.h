// Lanes: how light kernels read and write the channels of nhwc pixels, whole vectors where the form allows it.
#pragma once

#include <cstdint>
#include <string>

#include "src/core/workload.h"

namespace warpwright::light {

/// Bytes of the widest access that is aligned in every pixel of the form, at most `vector`.
int64_t access_bytes(const TensorForm& form, int64_t vector);
/// Lanes of a pixel, from the tensor's first, that may be read: pad lanes too where the tensor owns them.
int64_t readable_lanes(const TensorForm& form);
/// Lanes of a pixel, from the tensor's first, that a kernel writes.
int64_t written_lanes(const TensorForm& form);
/// Whether some of the written lanes hold pad_code.
bool writes_pad(const TensorForm& form);

/// Index expression (int) of the first lane of pixel `pixel` plus `lane`.
std::string pixel_offset(const TensorForm& form, const std::string& pixel, const std::string& lane);

/// Device functions: load_lanes<vector, access>, store_lanes<vector, access>, lane_code<is_signed>, word_of_codes,
/// pad_word.
std::string_view lane_access_source();
/// Device function store_pixel(y, pixel, lane, words, pad_code) for vectors of `vector` lanes of `form`.
std::string store_pixel_source(const TensorForm& form, int64_t vector);
/// A call of load_lanes that fills `words` from `pointer` at (pixel, lane), for a kernel that walks through the first
/// `walked` lanes of a pixel; lanes that may not be read are 0.
std::string load_pixel_call(const TensorForm& form, int64_t walked, int64_t vector, const std::string& words,
                            const std::string& pointer, const std::string& pixel, const std::string& lane);

}  // namespace warpwright::light
