// Opening databases one by one, and leaving out what is damaged.
#include "src/cli/build_databases.h"

#include <fmt/format.h>

#include <functional>

#include "database/check.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

/// Leaves out the files that `use` cannot; the number of those.
size_t drop(Paths& paths, const std::function<void(const std::filesystem::path&)>& use) {
  return std::erase_if(paths, [&](const std::filesystem::path& path) {
    try {
      use(path);
      return false;
    } catch (const UsageError& error) {
      log_warning("{}; the build goes on without it", error.what());
    } catch (const EnvironmentError& error) {
      log_warning("{}; the build goes on without it", error.what());
    }
    return true;
  });
}

void refuse_damaged_pages(const std::filesystem::path& path) {
  const CheckReport report = check_database(path, [](const Record&) {});
  for (const auto& [fault, count] : report.faults) {
    if (fault.starts_with("pages: ")) {
      throw UsageError(fmt::format("{}: the database is damaged ({})", path.string(), fault));
    }
  }
}

}  // namespace

BuildDatabases::BuildDatabases(Paths paths) : paths_(std::move(paths)) {
  for (const std::filesystem::path& path : paths_) {
    require_regular(path);
    if (file_kind(path) == FileKind::none) {
      throw UsageError(fmt::format("{}: there is no such database", path.string()));
    }
  }
  open();
}

void BuildDatabases::open() {
  database_.reset();
  if (paths_.empty()) return;
  try {
    database_ = open_databases(paths_);
  } catch (const Error&) {
    if (drop(paths_, [](const auto& path) { open_database(path, OpenMode::read_only); }) == 0) throw;
    open();
  }
}

bool BuildDatabases::drop_damaged() {
  database_.reset();
  const size_t dropped = drop(paths_, refuse_damaged_pages);
  open();
  return dropped > 0;
}

}  // namespace warpwright
