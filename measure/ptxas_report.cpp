// Reading the ptxas report, line by line: the wording is that of ptxas 12 and 13.
#include "measure/ptxas_report.h"

#include <charconv>

namespace warpwright {
namespace {

/// The number right before `unit`, as in `400 bytes smem`.
std::optional<int64_t> number_before(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data() + begin, line.data() + at, value);
  if (error != std::errc() || end != line.data() + at) return std::nullopt;
  return value;
}

/// What follows `lead` up to the next quote, blank or end.
std::optional<std::string_view> word_after(std::string_view line, std::string_view lead) {
  const size_t at = line.find(lead);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + lead.size());
  return rest.substr(0, rest.find_first_of("' \t\r"));
}

}  // namespace

std::optional<PtxasReport> read_ptxas_report(std::string_view log, std::string_view entry) {
  PtxasReport report;
  std::string_view compiling, properties_of;
  bool has_frame = false, has_registers = false;
  while (!log.empty()) {
    const size_t newline = log.find('\n');
    const std::string_view line = log.substr(0, newline);
    log = newline == std::string_view::npos ? std::string_view() : log.substr(newline + 1);
    if (const auto name = word_after(line, "Compiling entry function '")) {
      compiling = *name;
      properties_of = {};
    } else if (const auto function = word_after(line, "Function properties for ")) {
      properties_of = *function;
    } else if (const auto frame = number_before(line, " bytes stack frame"); frame && properties_of == entry) {
      const auto stores = number_before(line, " bytes spill stores"), loads = number_before(line, " bytes spill loads");
      if (!stores || !loads) return std::nullopt;
      report.local_bytes = *frame;
      report.spill_store_bytes = static_cast<int>(*stores);
      report.spill_load_bytes = static_cast<int>(*loads);
      has_frame = true;
    } else if (const auto registers = number_before(line, " registers"); registers && compiling == entry) {
      report.registers = static_cast<int>(*registers);
      report.static_smem_bytes = number_before(line, " bytes smem").value_or(0);
      has_registers = true;
    }
  }
  if (!has_frame || !has_registers) return std::nullopt;
  return report;
}

}  // namespace warpwright
