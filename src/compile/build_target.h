// BuildTarget: the card that a package is made for, in silicon or in software.
#pragma once

#include <string>

#include "src/core/target.h"

namespace warpwright {

struct BuildTarget {
  Target target;
  bool is_virtual = false;  // the virtual device itself is the goal: virtual evidence is the right evidence
};

/// A preset's name (the card), `virtual:NAME`, a file of `devices --json` (.json), `auto` or `cuda:N`.
BuildTarget build_target(const std::string& text);

/// What build_target takes for it: `rtx4090`, `virtual:rtx4090`.
std::string text(const BuildTarget& target);

}  // namespace warpwright
