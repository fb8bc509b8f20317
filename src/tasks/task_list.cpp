// JSON lines of tasks.
#include "src/tasks/task_list.h"

#include <fmt/format.h>

#include <set>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/json_text.h"

namespace warpwright {
namespace {

constexpr size_t kMostLineBytes = size_t{4} << 20;
constexpr int kMostWeight = 1'000'000;

ListedTask task_of_line(const Json& json) {
  if (!json.is_object() || !json.contains("workload")) throw UsageError("is no object with a `workload`");
  ListedTask listed;
  listed.task.workload = workload_from_json(json.at("workload"));
  check(listed.task.workload);
  listed.task.key = key(listed.task.workload);
  if (json.contains("task") && json.at("task") != listed.task.key) {
    throw UsageError(
        fmt::format("has the task {}, but its workload is that of {}", json.at("task").dump(), listed.task.key));
  }
  if (json.contains("weight")) {
    const Json& weight = json.at("weight");
    if (!weight.is_number_integer() || weight < 1 || weight > kMostWeight) {
      throw UsageError(fmt::format("has the weight {}; 1 to {} can be meant", weight.dump(), kMostWeight));
    }
    listed.task.weight = weight.get<int>();
  }
  if (json.contains("why") && json.at("why").is_string()) listed.why = json.at("why").get<std::string>();
  return listed;
}

}  // namespace

void write_task_list(const std::filesystem::path& path, const std::vector<ListedTask>& tasks) {
  std::string text;
  for (const ListedTask& listed : tasks) {
    const Json line{{"task", listed.task.key},
                    {"workload", to_json(listed.task.workload)},
                    {"weight", listed.task.weight},
                    {"why", listed.why}};
    text += line.dump() + '\n';
  }
  write_file(path, text);
}

bool is_task_list(const std::filesystem::path& path) {
  const Json json = try_parse_json(first_line(path, kMostLineBytes));
  return json.is_object() && json.contains("task") && json.contains("workload");
}

std::vector<ListedTask> read_task_list(const std::filesystem::path& path) {
  LineReader lines(path, kMostLineBytes);
  std::vector<ListedTask> tasks;
  std::set<std::string> keys;
  std::string line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      const Json json = try_parse_json(line);
      if (json.is_discarded()) throw UsageError("is not JSON");
      ListedTask listed = task_of_line(json);
      if (keys.insert(listed.task.key).second) tasks.push_back(std::move(listed));
    } catch (const Error& error) {  // a Workload that does not fit together is no broken program here
      throw UsageError(fmt::format("{} {}", lines.place(), error.what()));
    }
  }
  return tasks;
}

}  // namespace warpwright
