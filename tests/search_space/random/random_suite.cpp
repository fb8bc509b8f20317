// random_suite: many random cases over all families and architectures, each compiled, run with every check on and
// compared with the reference.
//
//   random_suite [--seed 1] [--first 0] [--count 10000] [--jobs N] [--family NAME] [--out FILE.csv]
//   random_suite --seed 1 --index 17         one case, with its source and all that is known of what went wrong
//
// A case depends on the seed and its index alone. Cases that FILE.csv has are not run again, so a run that was stopped
// goes on and several can share the work. Exit status 1 when a case is not ok.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "src/core/error.h"
#include "src/core/hash.h"
#include "tests/search_space/random/random_case.h"
#include "tests/search_space/random/random_workload.h"

using namespace warpwright;
using namespace warpwright::testing;

namespace {

constexpr int kHeavyShare = 4;  // cases of a family of products for each one of a light family

struct Options {
  uint64_t seed = 1;
  int64_t first = 0, count = 10'000, index = -1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string family, out;
};

struct Row {
  std::string family, target, verdict, message;
};
using RowsByIndex = std::map<int64_t, Row>;

uint64_t case_seed(uint64_t seed, int64_t index) {
  return std::stoull(key_hex(fmt::format("{}/{}", seed, index)).substr(0, 16), nullptr, 16);
}

/// It takes Workloads without products.
bool is_light(const KernelFamily& family) {
  Draw draw(1);
  for (int tries = 0; tries < 1000; ++tries) {
    const Workload workload = random_workload(draw);
    if (!family.why_unsupported(workload, *random_targets().back())) return workload.multiply_adds() == 0;
  }
  return false;
}

/// The families in turn; those of products come up more often.
const std::vector<const KernelFamily*>& deck() {
  static const std::vector<const KernelFamily*> families = [] {
    std::vector<const KernelFamily*> list;
    for (const KernelFamily* family : kernel_families()) {
      list.insert(list.end(), is_light(*family) ? 1 : kHeavyShare, family);
    }
    return list;
  }();
  return families;
}

const KernelFamily& family_at(const Options& options, int64_t index) {
  if (!options.family.empty()) return *family_named(options.family);
  return *deck()[static_cast<size_t>(index) % deck().size()];
}

/// Family and Target go through all pairs as the index grows; where a family takes nothing on a Target, the next
/// Target has its turn.
RandomCase case_at(const Options& options, int64_t index) {
  const KernelFamily& family = family_at(options, index);
  const int64_t turn = options.family.empty() ? index / static_cast<int64_t>(deck().size()) : index;
  const auto& targets = random_targets();
  for (size_t step = 0; step < targets.size(); ++step) {
    const Target& target = *targets[(static_cast<size_t>(turn) + step) % targets.size()];
    if (auto item = random_case(family, target, case_seed(options.seed, index))) return *item;
  }
  throw InternalError(fmt::format("family {} takes no random Workload on any Target", family.name()));
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '"' || c == ',') c = ' ';
  }
  return text.substr(0, 300);
}

RowsByIndex read_rows(const Options& options) {
  RowsByIndex rows;
  std::ifstream file(options.out);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string seed, index;
    Row row;
    std::getline(fields, seed, ',');
    std::getline(fields, index, ',');
    std::getline(fields, row.family, ',');
    std::getline(fields, row.target, ',');
    std::getline(fields, row.verdict, ',');
    if (!std::getline(fields, row.message) && row.verdict.empty()) continue;  // cut off when a run was stopped
    if (std::stoull(seed) == options.seed) rows[std::stoll(index)] = row;
  }
  return rows;
}

struct Finding {
  Row row;
  std::string details;  // of a case that is not ok
};

Finding find_out(const Options& options, Compiler& compiler, int64_t index) {
  try {
    const RandomCase item = case_at(options, index);
    const CaseResult result = run_case(compiler, item);
    return {{std::string(item.family->name()), item.target->name, result.verdict, one_line(result.message)},
            describe(item)};
  } catch (const Error& error) {  // a family that takes a Workload and then has no Config for it
    return {{std::string(family_at(options, index).name()), "none", "exception", one_line(error.what())}, {}};
  }
}

/// Runs what `rows` lacks and adds it to them and to the file.
void run_cases(const Options& options, RowsByIndex& rows) {
  const std::unique_ptr<Compiler> compiler = open_nvrtc();
  std::vector<int64_t> open;
  for (int64_t index = options.first; index < options.first + options.count; ++index) {
    if (!rows.contains(index)) open.push_back(index);
  }
  std::ofstream file;
  if (!options.out.empty()) file.open(options.out, std::ios::app);
  std::mutex mutex;
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < open.size(); i = next++) {
      const auto& [row, details] = find_out(options, *compiler, open[i]);
      const std::lock_guard lock(mutex);
      rows[open[i]] = row;
      if (file) {
        file << fmt::format("{},{},{},{},{},{}\n", options.seed, open[i], row.family, row.target, row.verdict,
                            row.message)
             << std::flush;
      }
      if (row.verdict != "ok") {
        fmt::print("--seed {} --index {}{}: {}: {}\n{}\n", options.seed, open[i],
                   options.family.empty() ? "" : " --family " + options.family, row.verdict, row.message, details);
        std::fflush(stdout);
      }
    }
  };
  deck();
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < options.jobs; ++job) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

/// Counts by family and Target, then by verdict. True when all are ok.
bool report(const Options& options, const RowsByIndex& rows) {
  std::map<std::string, std::map<std::string, int64_t>> counts;
  std::map<std::string, int64_t> verdicts;
  for (auto row = rows.lower_bound(options.first); row != rows.lower_bound(options.first + options.count); ++row) {
    ++counts[row->second.family][row->second.target];
    ++verdicts[row->second.verdict];
  }
  fmt::print("| family |");
  for (const Target* target : random_targets()) fmt::print(" {} ({}) |", target->name, target->arch());
  fmt::print(" all |\n|---|---|---|---|---|---|---|---|\n");
  int64_t all = 0;
  for (auto& [family, by_target] : counts) {
    fmt::print("| {} |", family);
    int64_t sum = 0;
    for (const Target* target : random_targets()) {
      fmt::print(" {} |", by_target[target->name]);
      sum += by_target[target->name];
    }
    fmt::print(" {} |\n", sum);
    all += sum;
  }
  fmt::print("\n{} cases:", all);
  for (const auto& [verdict, count] : verdicts) fmt::print(" {} {}", count, verdict);
  fmt::print("\n");
  return verdicts.size() == 1 && verdicts.begin()->first == "ok";
}

bool run_one(const Options& options) {
  const RandomCase item = case_at(options, options.index);
  const KernelSource source = item.family->emit(item.workload, item.config, *item.target);
  const CaseResult result = run_case(*open_nvrtc(), item);
  fmt::print("{}\n{}\n{}: {}\n", source.source, describe(item), result.verdict, result.message);
  return result.ok();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("random cases over all kernel families");
  app.add_option("--seed", options.seed, "of all cases");
  app.add_option("--first", options.first, "index of the first case");
  app.add_option("--count", options.count, "cases to run");
  app.add_option("--index", options.index, "one case, in full");
  app.add_option("--jobs", options.jobs, "threads");
  app.add_option("--family", options.family, "this family alone (its cases differ from those of all families)");
  app.add_option("--out", options.out, "results, one a line; those that are there are not run again");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!options.family.empty() && family_named(options.family) == nullptr) {
      throw UsageError("there is no kernel family " + options.family);
    }
    if (options.index >= 0) return run_one(options) ? 0 : 1;
    RowsByIndex rows = options.out.empty() ? RowsByIndex{} : read_rows(options);
    run_cases(options, rows);
    return report(options, rows) ? 0 : 1;
  } catch (const Error& error) {
    fmt::print(stderr, "random_suite: {}\n", error.what());
    return 2;
  }
}
