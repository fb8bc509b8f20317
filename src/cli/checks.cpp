// The machine's own checks, and all of them as lines and JSON.
#include "src/cli/checks.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cost_model/analytic_estimate.h"
#include "database/database.h"
#include "measure/diagnosis.h"
#include "src/cli/arguments.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/log.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

using State = Check::State;

// A night's records take some MB, a trial's files less.
constexpr double kLeastFree_mb = 1, kPlentyFree_mb = 1024;

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

Check check_disk(const std::filesystem::path& folder, const char* what) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) {
    return {"disk", State::failed, fmt::format("{} {}: {}", what, folder.string(), strerror(errno)),
            "make the folder, or name another one"};
  }
  const double free_mb = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e6;
  Check check{"disk", State::ok, fmt::format("{} {}: {:.0f} MB free", what, folder.string(), free_mb), ""};
  if (free_mb >= kPlentyFree_mb) return check;
  check.state = free_mb < kLeastFree_mb ? State::failed : State::warning;
  check.advice = "free some space, or name another folder ($TMPDIR for temporary files)";
  return check;
}

/// Opens it as tune does; makes none.
Check check_database(const CheckOptions& options) {
  Check check{"database", State::ok, options.database.string(), ""};
  try {
    if (file_kind(options.database) == FileKind::none) {
      if (!options.only_reads) check_can_write(options.database);
      check.finding += ": will be made";
      return check;
    }
    const OpenMode mode = options.only_reads ? OpenMode::read_only : OpenMode::read_write;
    const auto database = open_database(options.database, mode);
    check.finding += options.only_reads ? ": readable" : ": writable";
    database->close();
  } catch (const std::exception& error) {
    check.state = State::failed;
    check.finding = error.what();
  }
  return check;
}

std::string line_of(const std::string& of, const Check& check) {
  return fmt::format("{} {}: {}: {}{}{}", of, check.name, name(check.state), check.finding,
                     check.advice.empty() ? "" : "; ", check.advice);
}

}  // namespace

std::vector<CheckList> check_all(const CheckOptions& options) {
  std::vector<CheckList> lists;
  RunnerOptions running;
  running.stop = options.stop;
  for (const std::string& device : options.devices) {
    lists.push_back({device, diagnose_in_worker({device, options.nvrtc_path, options.task_bytes}, running)});
  }
  CheckList machine{"machine", {check_disk(temporary_root(), "temporary files in")}};
  if (!options.database.empty()) {
    machine.checks.push_back(check_disk(folder_of(options.database), "the database in"));
    machine.checks.push_back(check_database(options));
  }
  lists.push_back(std::move(machine));
  return lists;
}

bool has_failed(const std::vector<CheckList>& lists) {
  return std::ranges::any_of(lists, [](const CheckList& list) {
    return std::ranges::any_of(list.checks, [](const Check& check) { return check.state == State::failed; });
  });
}

std::vector<std::string> check_lines(const std::vector<CheckList>& lists) {
  std::vector<std::string> lines;
  for (const CheckList& list : lists) {
    for (const Check& check : list.checks) {
      lines.push_back(printable(fmt::format("{:<8} {} {}: {}", name(check.state), list.of, check.name, check.finding)));
      if (!check.advice.empty()) lines.push_back(printable(fmt::format("{:<8} to do: {}", "", check.advice)));
    }
  }
  return lines;
}

Json checks_json(const std::vector<CheckList>& lists) {
  Json all = Json::array();
  for (const CheckList& list : lists) {
    for (const Check& check : list.checks) {
      Json json = to_json(check);
      json["of"] = list.of;
      all.push_back(std::move(json));
    }
  }
  return {{"checks", all}, {"failed", has_failed(lists)}};
}

void require_checks(const CheckOptions& options) {
  std::string failures;
  for (const CheckList& list : check_all(options)) {
    for (const Check& check : list.checks) {
      const std::string line = line_of(list.of, check);
      if (check.state == State::failed) failures += (failures.empty() ? "" : "\n") + line;
      if (check.state == State::warning) {
        log_warning("{}", line);
      } else {
        log_info("{}", line);
      }
    }
  }
  if (!failures.empty()) throw EnvironmentError(failures);
}

int64_t largest_task_bytes(const std::vector<Task>& tasks) {
  int64_t most = 0;
  for (const Task& task : tasks) most = std::max(most, least_bytes(task.workload));
  return most;
}

}  // namespace warpwright
