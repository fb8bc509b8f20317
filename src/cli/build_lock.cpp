// Plans beside the lock file that they were made from.
#include "src/cli/build_lock.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "src/cli/build_gates.h"
#include "src/cli/table.h"
#include "src/core/log.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

constexpr size_t kMostLines = 8;  // of one kind of remark

struct Remark {
  const PlannedKernel* kernel = nullptr;
  std::string why;
};

/// Kernels that the lock could not give a Config.
std::vector<Remark> not_locked(const Plan& plan, const LockFile& lock) {
  std::vector<Remark> remarks;
  for (const PlannedKernel& kernel : plan.kernels) {
    std::string why = why_not_locked(lock, kernel.task, plan.target);
    if (!why.empty()) remarks.push_back({&kernel, std::move(why)});
  }
  return remarks;
}

std::vector<Remark> changed_cubins(const Plan& plan, const LockFile& lock) {
  std::vector<Remark> remarks;
  for (const PlannedKernel& kernel : plan.kernels) {
    const LockEntry* entry = lock.find(kernel.task.key);
    if (entry && entry->code.cubin == kernel.hashes.cubin) continue;
    std::string why = why_not_locked(lock, kernel.task, plan.target);
    remarks.push_back({&kernel, why.empty() ? lock_statement(kernel, *entry) : std::move(why)});
  }
  return remarks;
}

size_t unused_lines(const Plan& plan, const LockFile& lock) {
  std::set<std::string> used;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (lock.find(kernel.task.key)) used.insert(kernel.task.key);
  }
  return lock.entries().size() - used.size();
}

/// `conv2d 1x8x8x16 -> ... (ONNX conv_1, relu_1): no line in the lock file`.
std::string text_of(const Program& program, const Remark& remark) {
  return fmt::format("{} (ONNX {}): {}", remark.kernel->task.workload.summary(),
                     short_list(nodes_of(program, *remark.kernel)), remark.why);
}

/// Says each remark, and how many more there are.
template <typename Say>
void say_all(const Program& program, const std::vector<Remark>& remarks, const Say& say) {
  for (size_t i = 0; i < remarks.size() && i < kMostLines; ++i) say(text_of(program, remarks[i]));
  if (remarks.size() > kMostLines) say(fmt::format("{} more (--json)", remarks.size() - kMostLines));
}

Json json_of(const Program& program, const std::vector<Remark>& remarks) {
  Json list = Json::array();
  for (const Remark& remark : remarks) {
    list.push_back({{"workload_key", remark.kernel->task.key},
                    {"workload", remark.kernel->task.workload.summary()},
                    {"onnx_nodes", nodes_of(program, *remark.kernel)},
                    {"why", remark.why}});
  }
  return list;
}

}  // namespace

void warn_of_lock(const Program& program, const Plan& plan, const LockFile& lock, const std::string& path) {
  const std::vector<Remark> remarks = not_locked(plan, lock);
  if (!remarks.empty()) {
    log_warning("{} of {} tasks have no Config in {} and are chosen without it", remarks.size(), plan.kernels.size(),
                path);
    say_all(program, remarks, [](const std::string& text) { log_warning("not locked: {}", text); });
  }
  if (const size_t unused = unused_lines(plan, lock); unused > 0) {
    log_warning("{} of {} lines in {} are for tasks that the model does not have", unused, lock.entries().size(), path);
  }
}

std::map<std::string, int> lock_statements(const Plan& plan, const LockFile& lock) {
  std::map<std::string, int> statements;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (const LockEntry* entry = lock.find(kernel.task.key)) ++statements[lock_statement(kernel, *entry)];
  }
  return statements;
}

void print_changed_cubins(const Program& program, const Plan& plan, const LockFile& lock) {
  say_all(program, changed_cubins(plan, lock),
          [](const std::string& text) { fmt::print("  other cubin: {}\n", printable(text)); });
}

void add_lock(Json& document, const Program& program, const Plan& plan, const LockFile& lock, bool is_compiled) {
  document["not_locked"] = json_of(program, not_locked(plan, lock));
  document["unused_lock_lines"] = unused_lines(plan, lock);
  if (!is_compiled) return;
  document["locked_code"] = lock_statements(plan, lock);
  document["changed_cubins"] = json_of(program, changed_cubins(plan, lock));
}

}  // namespace warpwright
