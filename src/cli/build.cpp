// warpwright build: a model and the best records become a package.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "src/cli/arguments.h"
#include "src/cli/build_databases.h"
#include "src/cli/build_gates.h"
#include "src/cli/build_lock.h"
#include "src/cli/build_report.h"
#include "src/cli/model.h"
#include "src/cli/signals.h"
#include "src/cli/verb.h"
#include "src/compile/package_writer.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"
#include "src/tasks/task_list.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, target, output, lock, write_lock, misses_out, require_hit, evidence = "prefer", nvrtc;
  std::vector<std::string> databases, shapes, allow_miss;
  std::optional<double> min_time_coverage;
  int jobs = 0;
  bool dry_run = false, json = false;
};

EvidencePolicy policy_of(const std::string& evidence) {
  if (evidence == "silicon") return EvidencePolicy::silicon;
  return evidence == "any" ? EvidencePolicy::any : EvidencePolicy::prefer;
}

Gates gates_of(const Options& options) {
  Gates gates;
  if (!options.require_hit.empty()) gates.require_hit = rung_from_name(options.require_hit);
  gates.min_time_coverage = options.min_time_coverage;
  gates.allow_miss = options.allow_miss;
  gates.policy = policy_of(options.evidence);
  return gates;
}

/// The one device that all records of these tasks are of, as --target has it; empty when there are several.
std::string device_of_records(const Database& database, const Program& program) {
  std::set<std::string> devices;
  for (const Task& task : extract_tasks(program)) {
    for (const RecordGroup& group : database.groups(task.key)) devices.insert(group.device.name);
  }
  if (devices.size() != 1) return {};
  if (devices.begin()->starts_with("virtual:")) return *devices.begin();
  for (const Target& preset : target_presets()) {
    if (preset.device_name == *devices.begin()) return preset.name;
  }
  return {};
}

/// --target, else the lock's, else the one device of the records, else the card in this machine.
BuildTarget choose_target(const Options& options, const LockFile& lock, const Database* database,
                          const Program& program) {
  if (!options.target.empty()) return build_target(options.target);
  if (!options.lock.empty()) return build_target(lock.target_text());
  const std::string device = database != nullptr ? device_of_records(*database, program) : std::string();
  if (!device.empty()) {
    log_info("target {}, as the records have it (--target names another)", device);
    return build_target(device);
  }
  try {
    return build_target("auto");
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(std::string(error.what()) + "; name the card to build for with --target, e.g. rtx4090");
  }
}

void check_files(const Options& options) {
  if (options.output.empty() && !options.dry_run) throw UsageError("-o PKG is missing (or --dry-run)");
  Paths inputs(options.databases.begin(), options.databases.end());
  inputs.push_back(options.model);
  if (!options.lock.empty()) inputs.push_back(options.lock);
  std::set<std::filesystem::path> places;
  const auto check = [&](const std::string& output, const OutputKind& kind) {
    if (output.empty()) return;
    check_output(output, kind, inputs);
    if (!places.insert(std::filesystem::weakly_canonical(output)).second) {
      throw UsageError(fmt::format("{}: two outputs (-o, --write-lock, --misses-out) name this file", output));
    }
  };
  check(options.misses_out, {"list of tasks", is_task_list});
  if (options.dry_run) return;
  check(options.write_lock, {"lock file", is_lock_file});
  check(options.output, {"package", is_package});
}

struct Earlier {
  std::string name;
  std::map<std::string, std::string> cubins;  // by workload key
};

/// What was built before: the lock, else the package that -o replaces.
std::optional<Earlier> earlier_build(const Options& options, const LockFile& lock, const BuildTarget& target) {
  if (!options.lock.empty()) {
    Earlier earlier{options.lock, {}};
    for (const auto& [workload_key, entry] : lock.entries()) earlier.cubins[workload_key] = entry.code.cubin;
    return earlier;
  }
  if (!is_package(options.output)) return std::nullopt;
  try {
    return Earlier{options.output, PackageFile(options.output).cubin_hashes(key(target.target))};
  } catch (const UsageError& error) {
    log_warning("{}; it is replaced", error.what());
    return std::nullopt;
  }
}

int unchanged_cubins(const Plan& plan, const Earlier& earlier) {
  int unchanged = 0;
  for (const PlannedKernel& kernel : plan.kernels) {
    const auto before = earlier.cubins.find(kernel.task.key);
    unchanged += before != earlier.cubins.end() && before->second == kernel.hashes.cubin;
  }
  return unchanged;
}

/// Compiles the plan; gives 0, or the exit status after a signal, which leaves nothing behind.
int compile_plan(const Options& options, Plan& plan) {
  StopSignals signals;
  BuilderOptions builder;
  builder.nvrtc_path = options.nvrtc;
  builder.jobs = options.jobs;
  builder.stop = signals.flag();
  try {
    compile(plan, builder);
  } catch (const EnvironmentError&) {
    if (signals.exit_status() == 0) throw;
  }
  return signals.exit_status();
}

/// A plan with what is to be said about it.
struct Judged {
  Plan plan;
  Coverage coverage;
  GateReport report;
};

void judge_again(Judged& judged, const Program& program, const Gates& gates) {
  judged.coverage = coverage_of(judged.plan);
  judged.report = judge_plan(program, judged.plan, judged.coverage, gates);
}

/// Chooses for every task; a database that turns out to be damaged gives way to the others.
Plan choose_plan(const Options& options, const LockFile& lock, const Program& program, BuildDatabases& databases) {
  for (;;) {
    try {
      const BuildTarget target = choose_target(options, lock, databases.get(), program);
      const BestHistory history(databases.get(), target, policy_of(options.evidence));
      Chooser chooser = [&](const Task& task) { return history.choose(task); };
      if (!options.lock.empty()) chooser = lock_chooser(lock, target, chooser);
      return make_plan(program, target, chooser);
    } catch (const Error&) {
      if (!databases.drop_damaged()) throw;
    }
  }
}

/// Writes what is asked for and says what changed.
void write_build(const Options& options, const Model& model, const LockFile& lock, const Judged& judged,
                 Json& document) {
  const Plan& plan = judged.plan;
  const auto earlier = earlier_build(options, lock, plan.target);
  const Package package = make_package(model.program, plan);
  write_package(options.output, std::span(&package, 1), manifest_of(plan, model.digest));
  if (!options.write_lock.empty()) lock_of(plan).write(options.write_lock);
  document["package"] = options.output;
  document["digest"] = PackageFile(options.output).digest();
  if (earlier) document["unchanged_cubins"] = unchanged_cubins(plan, *earlier);
  if (options.json) return;
  print_kernels(model.program, plan);
  print_rungs(plan, judged.coverage);
  print_code(plan, lock);
  if (earlier) {
    const int unchanged = unchanged_cubins(plan, *earlier);
    fmt::print("{} of {} cubins unchanged since {}{}\n", unchanged, plan.kernels.size(), earlier->name,
               options.lock.empty() ? "" : ", weights packed from " + options.model);
    if (!options.lock.empty()) print_changed_cubins(model.program, plan, lock);
  }
  fmt::print("{} {}\n", options.output, document["digest"].get<std::string>());
}

int build(const Options& options) {
  check_files(options);
  const Gates gates = gates_of(options);
  const LockFile lock = options.lock.empty() ? LockFile() : LockFile::read(options.lock);
  BuildDatabases databases(Paths(options.databases.begin(), options.databases.end()));
  const Model model = read_model(options.model, parse_shapes(options.shapes));
  Judged judged{choose_plan(options, lock, model.program, databases), {}, {}};
  judge_again(judged, model.program, gates);
  if (!options.lock.empty()) warn_of_lock(model.program, judged.plan, lock, options.lock);
  if (!options.misses_out.empty()) write_misses(options.misses_out, judged.plan, judged.report);
  const bool is_built = judged.report.refusal.empty() && !options.dry_run;
  if (is_built) {
    if (const int status = compile_plan(options, judged.plan); status != 0) return status;
    judge_again(judged, model.program, gates);  // what did not compile gave way to a default
  }
  Json document = build_document(model.program, judged.plan, judged.coverage, judged.report);
  if (!options.lock.empty()) add_lock(document, model.program, judged.plan, lock, is_built);
  if (is_built && judged.report.refusal.empty()) {
    write_build(options, model, lock, judged, document);
  } else if (!options.json) {
    print_kernels(model.program, judged.plan);
    print_rungs(judged.plan, judged.coverage);
  }
  if (options.json) fmt::print("{}\n", json_document(document));
  if (judged.report.refusal.empty()) return kDone;
  for (const size_t i : judged.report.misses) {
    log_warning("miss: {}", miss_text(model.program, judged.plan.kernels[i]));
  }
  log_warning("{}; nothing is written", judged.report.refusal);
  return kAnswerIsNo;
}

}  // namespace

VerbBody build_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model")->required();
  add_repeated(app, "--db", options->databases,
               "a database of `tune`; several are read as if merged, one that is damaged is left out");
  app.add_option(
      "--target", options->target,
      "the card: rtx4090, virtual:rtx4090, FILE.json of `devices --json`, auto (default: the lock's, the one "
      "device of the records, or auto)");
  app.add_option("-o,--output", options->output, "the package to write");
  add_repeated(app, "--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224");
  app.add_option("--require-hit", options->require_hit, "exit 1 unless every kernel is at least on this rung")
      ->check(CLI::IsMember({"exact", "arch", "near"}));
  app.add_option(
         "--min-time-coverage", options->min_time_coverage,
         "exit 1 unless so many percent of the expected time are on the rung of --require-hit (default: exact); "
         "single kernels may miss then")
      ->check(number_from(0, 100));
  add_repeated(app, "--allow-miss", options->allow_miss, "the kernel of this ONNX node may miss");
  app.add_option("--misses-out", options->misses_out, "write what misses as a list of tasks, for `tune --tasks-from`");
  app.add_option(
         "--evidence", options->evidence,
         "silicon: silicon records alone; prefer: the target's own evidence counts, the other kind serves where "
         "there is none; any: both count")
      ->capture_default_str()
      ->check(CLI::IsMember({"silicon", "prefer", "any"}));
  app.add_option("--lock", options->lock, "a lock file whose kernels are taken as they are");
  app.add_option("--write-lock", options->write_lock, "write the chosen kernels as a lock file");
  app.add_option("--nvrtc", options->nvrtc, "path of libnvrtc");
  app.add_option("--jobs", options->jobs, "processes that compile (default: one a core)")
      ->check(count_from(0, kMostJobs));
  app.add_flag("--dry-run", options->dry_run, "choose and report, compile and write nothing");
  app.add_flag("--json", options->json, "print JSON");
  return [options] { return build(*options); };
}

}  // namespace warpwright
