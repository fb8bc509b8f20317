// Parses a PTX module: version, target, variables and entry functions.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "src/device/virtual/ptx_declaration.h"
#include "src/device/virtual/ptx_kernel_parser.h"

namespace warpwright::ptx {
namespace {

constexpr uint32_t kMostConstantBytes = 64u << 10;
constexpr uint32_t kMostGlobalBytes = 256u << 20;
constexpr uint32_t kMostSharedBytes = 1u << 20;

class ModuleParser {
 public:
  explicit ModuleParser(const std::vector<Token>& tokens) : in_(tokens) {}

  Module run() {
    while (in_.peek().kind != Token::Kind::end) parse_item();
    if (module_.kernels.empty()) fail_at(in_.line(), "there is no kernel in this text");
    return std::move(module_);
  }

 private:
  void parse_item() {
    const int line = in_.line();
    bool is_extern = false;
    while (true) {
      if (in_.accept(".extern")) {
        is_extern = true;
      } else if (!in_.accept(".visible") && !in_.accept(".weak") && !in_.accept(".common")) {
        break;
      }
    }
    const std::string_view word = in_.word("a directive");
    if (word == ".version") {
      parse_version(line);
    } else if (word == ".target") {
      module_.target = in_.word("a target");
      while (in_.accept(",")) in_.word("a target option");
    } else if (word == ".address_size") {
      in_.integer("the address size", 64, 64);
    } else if (word == ".file") {
      while (in_.line() == line && in_.peek().kind != Token::Kind::end) in_.next();
    } else if (word == ".const" || word == ".global" || word == ".shared") {
      parse_variables(word, is_extern);
    } else if (word == ".entry") {
      parse_kernel(line);
    } else {
      fail_at(line, fmt::format("'{}' is not supported yet", word));
    }
  }

  void parse_version(int line) {
    const std::string_view text = in_.next().text;  // `9.0`
    const size_t dot = text.find('.');
    const auto number = [&](std::string_view digits) {
      int value = -1;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (read.ec != std::errc() || value < 0 || value > 99) fail_at(line, "a version expected behind '.version'");
      return value;
    };
    module_.version =
        10 * number(text.substr(0, dot)) + (dot == std::string_view::npos ? 0 : number(text.substr(dot + 1)));
  }

  void parse_kernel(int line) {
    Kernel kernel = KernelParser(in_, variables_).run();
    for (const Kernel& other : module_.kernels) {
      if (other.name == kernel.name) fail_at(line, fmt::format("kernel '{}' is defined twice", kernel.name));
    }
    for (const Instruction& instruction : kernel.instructions) check_available(instruction, kernel, module_);
    module_.kernels.push_back(std::move(kernel));
  }

  void parse_variables(std::string_view space, bool is_extern) {
    do {
      const int line = in_.line();
      const Declaration read = read_declaration(in_, kMostGlobalBytes);
      const bool is_dynamic = space == ".shared" && is_extern && read.is_unsized;
      if ((is_extern || read.is_unsized) && !is_dynamic) {
        fail_at(line, fmt::format("the external variable '{}' is not supported yet", read.name));
      }
      Variable& variable = variables_[read.name];
      variable.bytes = read.bytes;
      variable.alignment = read.alignment;
      if (space == ".const") {
        place_constant(read, variable, line);
      } else if (space == ".global") {
        place_global(read, variable, line);
      } else {
        variable.space = Space::shared;
        variable.is_dynamic = is_dynamic;
        variable.is_placed = is_dynamic;
        if (read.bytes > kMostSharedBytes) fail_at(line, "too much shared memory");
      }
    } while (in_.accept(","));
    in_.expect(";");
  }

  void place_constant(const Declaration& read, Variable& variable, int line) {
    variable.space = Space::constant;
    const auto used = static_cast<uint32_t>(module_.constants.size());
    variable.offset = align_up(used, read.alignment);
    if (read.bytes > kMostConstantBytes || variable.offset + read.bytes > kMostConstantBytes) {
      fail_at(line, fmt::format("more than {} bytes of constants", kMostConstantBytes));
    }
    module_.constants.resize(variable.offset + read.bytes);
    if (!read.contents.empty())
      std::memcpy(module_.constants.data() + variable.offset, read.contents.data(), read.bytes);
  }

  void place_global(const Declaration& read, Variable& variable, int line) {
    global_bytes_ += read.bytes;
    if (global_bytes_ > kMostGlobalBytes) fail_at(line, fmt::format("more than {} bytes of globals", kMostGlobalBytes));
    variable.space = Space::global;
    variable.global = static_cast<int>(module_.globals.size());
    GlobalVariable global{read.name, read.alignment, read.contents, !read.contents.empty()};
    global.bytes.resize(read.bytes);
    module_.globals.push_back(std::move(global));
  }

  TokenStream in_;
  Module module_;
  Variables variables_;
  uint64_t global_bytes_ = 0;
};

}  // namespace

Module parse(std::string_view text) {
  const std::vector<Token> tokens = tokenize(text);
  return ModuleParser(tokens).run();
}

std::vector<int> registers_read(const Instruction& instruction) {
  std::vector<int> out;
  if (instruction.guard >= 0) out.push_back(instruction.guard);
  for (const Operand& operand : instruction.sources) {
    if (operand.reg >= 0) out.push_back(operand.reg);
  }
  return out;
}

std::vector<int> registers_written(const Instruction& instruction) {
  std::vector<int> out;
  for (const Operand& operand : instruction.destinations) {
    if (operand.reg >= 0) out.push_back(operand.reg);
  }
  return out;
}

}  // namespace warpwright::ptx
