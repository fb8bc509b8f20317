// Knobs as members of a struct, with the names that Configs have for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/core/config.h"

namespace warpwright {

template <typename Knobs>
struct NamedKnob {
  const char* name;
  int64_t Knobs::*value;
};
/// In the order of the space.
template <typename Knobs, size_t kCount>
using NamedKnobs = std::array<NamedKnob<Knobs>, kCount>;

/// Throws InternalError when the Config lacks a knob.
template <typename Knobs, size_t kCount>
Knobs knobs_from(const NamedKnobs<Knobs, kCount>& names, const Config& config) {
  Knobs knobs{};
  for (const auto& [name, value] : names) knobs.*value = config.at(name);
  return knobs;
}

/// `values`: one a knob.
template <typename Knobs, size_t kCount>
Knobs knobs_from(const NamedKnobs<Knobs, kCount>& names, std::span<const int64_t> values) {
  Knobs knobs{};
  for (size_t i = 0; i < kCount; ++i) knobs.*names[i].value = values[i];
  return knobs;
}

/// Fills in the knobs of a Config of that family and version.
template <typename Knobs, size_t kCount>
Config config_from(const NamedKnobs<Knobs, kCount>& names, const Knobs& knobs, Config config) {
  for (const auto& [name, value] : names) config.knobs[name] = knobs.*value;
  return config;
}

}  // namespace warpwright
