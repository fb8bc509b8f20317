// Rows of a package.
#include "tests/fuzz/harness/package_mutation.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/json_text.h"
#include "src/runtime/package_format.h"
#include "tests/fuzz/harness/model_mutation.h"

namespace warpwright::testing {

namespace {

template <typename T>
const T& any_of(const std::vector<T>& list, Draw& draw) {
  return list[static_cast<size_t>(draw.between(0, std::ssize(list) - 1))];
}

void collect(Json& json, std::vector<Json*>& list) {
  list.push_back(&json);
  if (!json.is_structured()) return;
  for (auto& item : json) collect(item, list);
}

Json odd_json(Draw& draw) {
  switch (draw.between(0, 7)) {
    case 0:
      return nullptr;
    case 1:
      return Json::array();
    case 2:
      return Json::object();
    case 3:
      return draw.one_of<double>({0.5, -1e300, 1e300, 3.4e38});
    case 4:
      return draw.one_of<const char*>(
          {"", "u8", "s8", "s32", "f32", "nhwc", "nchw", "conv2d", "add", "sm_90", "input"});
    case 5:
      return true;
    default:
      return odd_integer(draw);
  }
}

std::string mutated_json(const std::string& text, Draw& draw) {
  Json json = try_parse_json(text);
  if (json.is_discarded() || draw.chance(5)) {
    std::string bytes = text;
    mutate_bytes(bytes, draw);
    return bytes;
  }
  std::vector<Json*> parts;
  collect(json, parts);
  Json& part = *any_of(parts, draw);
  if (part.is_structured() && !part.empty() && draw.chance(60)) {
    auto item = std::next(part.begin(), draw.between(0, std::ssize(part) - 1));
    if (draw.chance(50)) {
      part.erase(item);
    } else if (part.is_array()) {
      part.push_back(Json(*item));
    }
  } else if (part.is_number_integer() && draw.chance(80)) {
    part = odd_integer(draw);
  } else {
    part = odd_json(draw);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string odd_text(const std::string& old, Draw& draw) {
  if (!old.empty() && (old[0] == '{' || old[0] == '[')) return mutated_json(old, draw);
  if (draw.chance(30)) {
    return draw.one_of<const char*>(
        {"", "u8", "s8", "s32", "f32", "nhwc", "nchw", "input", "output", "sm_75", "exact", "silicon"});
  }
  std::string text = old;
  mutate_bytes(text, draw);
  return text;
}

struct Cell {
  std::string table, column;
  int64_t row = 0;
};

/// A random cell; one without a row when the table is empty.
Cell any_cell(SqliteFile& file, Draw& draw) {
  const std::string& table = any_of(package_tables(), draw).name;
  const int64_t rows = file.integer("SELECT count(*) FROM " + table);
  if (rows == 0) return {table, "", 0};
  std::vector<std::string> columns;
  SqliteStatement info(file, "SELECT name FROM pragma_table_info('" + table + "')");
  while (info.step()) columns.push_back(info.text(0));
  const int64_t row = file.integer(
      fmt::format("SELECT rowid FROM {} ORDER BY rowid LIMIT 1 OFFSET {}", table, draw.between(0, rows - 1)));
  return {table, any_of(columns, draw), row};
}

/// A blob with other bytes, under its right hash wherever the package names it.
void mutate_blob(SqliteFile& file, Draw& draw) {
  const int64_t rows = file.integer("SELECT count(*) FROM blobs");
  if (rows == 0) return;
  std::string hash, bytes;
  {
    SqliteStatement row(
        file, fmt::format("SELECT hash, bytes FROM blobs ORDER BY hash LIMIT 1 OFFSET {}", draw.between(0, rows - 1)));
    row.step();
    hash = row.text(0);
    bytes = row.blob(1);
  }
  mutate_bytes(bytes, draw);
  const std::string renewed = sha256_hex(bytes);
  SqliteStatement(file, "UPDATE OR IGNORE blobs SET hash = ?, bytes = ? WHERE hash = ?")
      .bind(0, renewed)
      .bind_blob(1, bytes)
      .bind(2, hash)
      .run();
  for (const auto& [table, column] : std::vector<std::pair<std::string, std::string>>{{"step_values", "hash"},
                                                                                      {"packings", "hash"},
                                                                                      {"kernels", "source_hash"},
                                                                                      {"kernels", "ptx_hash"},
                                                                                      {"kernels", "cubin_hash"}}) {
    SqliteStatement(file, fmt::format("UPDATE {0} SET {1} = ? WHERE {1} = ?", table, column))
        .bind(0, renewed)
        .bind(1, hash)
        .run();
  }
}

void mutate_cell(SqliteFile& file, Draw& draw) {
  const Cell cell = any_cell(file, draw);
  if (cell.column.empty()) return;
  const std::string where = fmt::format(" WHERE rowid = {}", cell.row);
  const std::string type = [&] {
    SqliteStatement row(file, fmt::format("SELECT typeof({}) FROM {}{}", cell.column, cell.table, where));
    return row.step() ? row.text(0) : std::string();
  }();
  const std::string update = fmt::format("UPDATE OR IGNORE {} SET {} = ?{}", cell.table, cell.column, where);
  if (type == "integer") {
    SqliteStatement(file, update).bind(0, odd_integer(draw)).run();
  } else if (type == "text") {
    std::string old;
    {
      SqliteStatement row(file, fmt::format("SELECT {} FROM {}{}", cell.column, cell.table, where));
      if (row.step()) old = row.text(0);
    }
    SqliteStatement(file, update).bind(0, odd_text(old, draw)).run();
  }
}

/// A row less, or one taken from another place of the same table.
void mutate_row_set(SqliteFile& file, Draw& draw) {
  const Cell cell = any_cell(file, draw), other = any_cell(file, draw);
  if (cell.column.empty()) return;
  if (draw.chance(50) || cell.table != other.table) {
    file.execute(fmt::format("DELETE FROM {} WHERE rowid = {}", cell.table, cell.row));
  } else {
    file.execute(fmt::format("UPDATE OR IGNORE {0} SET {1} = (SELECT {1} FROM {0} WHERE rowid = {2}) WHERE rowid = {3}",
                             cell.table, cell.column, other.row, cell.row));
  }
}

}  // namespace

void mutate_rows(const std::filesystem::path& path, Draw& draw) {
  SqliteFile file(path, SqliteFile::Mode::create);
  file.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
  for (int64_t changes = 1 + draw.between(0, 2) * draw.between(0, 1); changes > 0; --changes) {
    const int64_t kind = draw.between(1, 10);
    if (kind <= 2) {
      mutate_blob(file, draw);
    } else if (kind == 3) {
      mutate_row_set(file, draw);
    } else {
      mutate_cell(file, draw);
    }
  }
  if (draw.chance(97)) file.execute("UPDATE digest SET sha256 = '" + package_digest(file) + "'");
}

}  // namespace warpwright::testing
