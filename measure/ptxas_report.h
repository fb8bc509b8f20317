// Resources of a kernel from the report that ptxas writes under -v.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpwright {

struct PtxasReport {
  int registers = 0;
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int64_t static_smem_bytes = 0;
  int64_t local_bytes = 0;  // stack frame, spills included
};

/// The numbers of one entry function; nullopt when the log does not hold them all.
std::optional<PtxasReport> read_ptxas_report(std::string_view log, std::string_view entry);

}  // namespace warpwright
