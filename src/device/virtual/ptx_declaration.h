// Declarations of variables in PTX: type, alignment, size and first contents.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/device/virtual/ptx.h"
#include "src/device/virtual/ptx_lexer.h"

namespace warpwright::ptx {

struct Declaration {
  std::string name;
  Type type = Type::none;
  bool is_array = false, is_unsized = false;
  uint32_t alignment = 1;
  uint32_t bytes = 0;
  std::vector<std::byte> contents;  // empty without an initialiser, else `bytes` long
};

/// Reads what follows the state space: `.align 4 .b8 name[64] = {1, 2}`, without the closing mark.
Declaration read_declaration(TokenStream& in, uint32_t most_bytes);

/// The type that a word like `.u32` names; throws UsageError naming it when there is none.
Type read_type(TokenStream& in);

/// `value` up to the next multiple of `alignment`.
uint32_t align_up(uint32_t value, uint32_t alignment);

}  // namespace warpwright::ptx
