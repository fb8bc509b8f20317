// Names while a PTX module is parsed: variables of the module and the kernel, registers and labels in nested scopes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/device/virtual/ptx.h"

namespace warpwright::ptx {

/// A variable of any state space.
struct Variable {
  Space space = Space::none;
  uint32_t offset = 0;  // in its space; shared variables of the module: not placed yet
  uint32_t bytes = 0, alignment = 1;
  int global = -1;          // index of Module::globals
  bool is_dynamic = false;  // the extern shared array
  bool is_placed = true;
};

using Variables = std::unordered_map<std::string, Variable>;

/// Scopes of `{ }` inside a kernel, for registers and labels.
class Scopes {
 public:
  Scopes() { open(); }
  void open();
  bool close();  // false when only the outermost is left

  /// False when this scope has the name already.
  bool add_register(const std::string& name, int index) { return registers_.back().emplace(name, index).second; }
  int find_register(const std::string& name) const;  // -1: none

  bool add_label(std::string_view name, int instruction);
  /// The scopes that are open, innermost last, to look a label up once all are known.
  const std::vector<int>& chain() const { return chain_; }
  int find_label(std::string_view name, const std::vector<int>& chain) const;  // -1: none

 private:
  static std::string label_key(int scope, std::string_view name) {
    return std::to_string(scope) + ":" + std::string(name);
  }

  std::vector<std::unordered_map<std::string, int>> registers_;
  std::vector<int> chain_;
  int scopes_seen_ = 0;
  std::unordered_map<std::string, int> labels_;
};

}  // namespace warpwright::ptx
