// Names of enumerators, for JSON and tables.
#pragma once

#include <fmt/core.h>

#include <array>
#include <string_view>
#include <utility>

#include "src/core/error.h"

namespace warpwright {

template <typename E, size_t N>
using EnumNames = std::array<std::pair<E, std::string_view>, N>;

template <typename E, size_t N>
std::string_view to_name(const EnumNames<E, N>& names, E value) {
  for (const auto& [item, text] : names) {
    if (item == value) return text;
  }
  throw InternalError("enumerator without a name");
}

/// Throws UsageError that names `what` when `text` is none of the names.
template <typename E, size_t N>
E from_name(const EnumNames<E, N>& names, std::string_view text, std::string_view what) {
  for (const auto& [item, name] : names) {
    if (name == text) return item;
  }
  throw UsageError(fmt::format("{} cannot be '{}'", what, text));
}

}  // namespace warpwright
