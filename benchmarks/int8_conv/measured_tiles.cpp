// Measured times of CUTLASS INT8 convolutions.
#include "benchmarks/int8_conv/measured_tiles.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "src/core/error.h"
#include "src/core/file.h"

namespace warpwright {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

/// A row by the names of its columns; of two columns of one name the first counts.
class Row {
 public:
  Row(const std::vector<std::string>& names, const std::vector<std::string>& cells) {
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) cells_.emplace(names[i], cells[i]);
  }
  const std::string& text(const std::string& name) const {
    const auto found = cells_.find(name);
    if (found == cells_.end()) throw UsageError("measured tiles: a row has no column `" + name + "`");
    return found->second;
  }
  int64_t number(const std::string& name) const {
    try {
      return std::stoll(text(name));
    } catch (const std::exception&) {
      throw UsageError("measured tiles: `" + text(name) + "` in column `" + name + "` is no number");
    }
  }

 private:
  std::map<std::string, std::string> cells_;
};

Workload workload_of(const Row& row) {
  Workload conv;
  conv.kind = OpKind::conv2d;
  const int64_t n = row.number("n");
  conv.inputs = {nhwc_form(DType::s8, n, row.number("h"), row.number("w"), row.number("c"))};
  conv.output = nhwc_form(DType::s32, n, row.number("p"), row.number("q"), row.number("k"));
  conv.epilogue.table_input = DType::s32;
  conv.window.kernel_h = row.number("r");
  conv.window.kernel_w = row.number("s");
  conv.window.stride_h = row.number("stride_h");
  conv.window.stride_w = row.number("stride_w");
  conv.window.pad_top = conv.window.pad_bottom = row.number("pad_h");
  conv.window.pad_left = conv.window.pad_right = row.number("pad_w");
  // With an even extent and a stride the last rows are not reached.
  const auto reached = [](int64_t out, int64_t stride, int64_t kernel) { return (out - 1) * stride + kernel; };
  conv.window.pad_bottom =
      reached(conv.output.h, conv.window.stride_h, conv.window.kernel_h) - conv.inputs[0].h - conv.window.pad_top;
  conv.window.pad_right =
      reached(conv.output.w, conv.window.stride_w, conv.window.kernel_w) - conv.inputs[0].w - conv.window.pad_left;
  conv.window.pad_bottom = std::max<int64_t>(0, conv.window.pad_bottom);
  conv.window.pad_right = std::max<int64_t>(0, conv.window.pad_right);
  return conv;
}

}  // namespace

std::string MeasuredTile::tile_text() const {
  return fmt::format("{}x{}x{}, {} stages, {}x{} warps, k{}", tile.cta_m, tile.cta_n, tile.cta_k, tile.stages,
                     tile.warps_m, tile.warps_n, tile.depth);
}

std::vector<MeasuredTile> read_measured_tiles(const std::string& csv_path) {
  std::istringstream in(read_file(csv_path));
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = cells_of(line);
  std::vector<MeasuredTile> measured;
  while (std::getline(in, line)) {
    const Row row(names, cells_of(line));
    if (row.text("status") != "ok") continue;
    MeasuredTile one;
    one.workload = workload_of(row);
    one.tile = {row.number("cta_m"),   row.number("cta_n"),   row.number("cta_k"),   row.number("stages"),
                row.number("warps_m"), row.number("warps_n"), row.number("warps_k"), row.number("inst_k")};
    one.time_us = 1e3 * std::stod(row.text("time_ms"));
    measured.push_back(std::move(one));
  }
  return measured;
}

}  // namespace warpwright
