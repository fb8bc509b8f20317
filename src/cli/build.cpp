// warpwright build: a model and the best records become a package.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "src/cli/arguments.h"
#include "src/cli/model.h"
#include "src/cli/signals.h"
#include "src/cli/table.h"
#include "src/cli/verb.h"
#include "src/compile/package_writer.h"
#include "src/core/error.h"
#include "src/core/json_text.h"
#include "src/core/log.h"

namespace warpwright {
namespace {

struct Options {
  std::string model, target, output, lock, write_lock, require_hit, evidence, nvrtc;
  std::vector<std::string> databases, shapes;
  int jobs = 0;
  bool dry_run = false, json = false;
};

EvidencePolicy policy_of(const std::string& evidence) {
  if (evidence == "silicon") return EvidencePolicy::silicon;
  return evidence == "any" ? EvidencePolicy::any : EvidencePolicy::prefer;
}

/// Names one device when all records were measured there.
std::string device_of_records(const Database& database) {
  const Statistics statistics = database.statistics();
  if (statistics.by_device.size() != 1) return {};
  std::string device = statistics.by_device.begin()->first;
  if (device.starts_with("virtual:")) return device;
  for (const Target& preset : target_presets()) {
    if (preset.device_name == device) return preset.name;
  }
  return {};
}

/// --target, else the lock's, else the one device of the records, else the card in this machine.
BuildTarget choose_target(const Options& options, const LockFile& lock, const Database* database) {
  if (!options.target.empty()) return build_target(options.target);
  if (!options.lock.empty()) return build_target(lock.target_text());
  const std::string device = database ? device_of_records(*database) : std::string();
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
  if (!options.write_lock.empty()) {
    refuse_overwrite(options.write_lock, inputs);
    if (options.write_lock == options.output) throw UsageError("-o and --write-lock name the same file");
    if (!options.dry_run) check_can_write(options.write_lock);
  }
  if (options.dry_run || options.output.empty()) return;
  refuse_overwrite(options.output, inputs);
  check_can_write(options.output);
  if (std::filesystem::exists(options.output) && !is_package(options.output)) {
    throw UsageError(fmt::format("{}: exists and is no package: it would be lost", options.output));
  }
}

std::vector<std::string> nodes_of(const Program& program, const PlannedKernel& kernel) {
  std::vector<std::string> nodes;
  for (size_t step : kernel.task.steps) {
    for (const std::string& node : program.steps[step].onnx_nodes) nodes.push_back(node);
  }
  return nodes;
}

std::string evidence_text(const Choice& choice) { return choice.evidence ? std::string(name(*choice.evidence)) : "-"; }

void print_kernels(const Program& program, const Plan& plan) {
  Table table(
      {">step", "workload", "ONNX nodes", "rung", "evidence", ">trials", ">default us", ">best us", ">gain", "config"});
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const PlannedKernel& kernel = plan.kernels[plan.kernel_of_step[step]];
    const Choice& choice = kernel.choice;
    table.add({std::to_string(step), kernel.task.workload.summary(), short_list(program.steps[step].onnx_nodes),
               std::string(name(choice.rung)), evidence_text(choice),
               choice.trials > 0 ? std::to_string(choice.trials) : "-", us_text(choice.default_us),
               us_text(choice.best_us), gain_text(choice.default_us, choice.best_us), summary(choice.config)});
  }
  table.print();
}

/// `38 exact (silicon), 11 arch (virtual), 4 default`, and why not better, each reason once.
void print_rungs(const Plan& plan) {
  std::map<std::pair<Rung, std::string>, int> counts;
  std::map<std::string, int> reasons;
  for (const PlannedKernel& kernel : plan.kernels) {
    ++counts[{kernel.choice.rung, evidence_text(kernel.choice)}];
    if (!kernel.choice.why.empty()) ++reasons[kernel.choice.why];
  }
  std::vector<std::string> parts;
  for (const auto& [rung, count] : counts) {
    const std::string evidence = rung.second == "-" ? "" : " (" + rung.second + ")";
    parts.push_back(fmt::format("{} {}{}", count, name(rung.first), evidence));
  }
  fmt::print("{} kernels for {}: {}\n", plan.kernels.size(), text(plan.target), fmt::join(parts, ", "));
  for (const auto& [reason, count] : reasons) fmt::print("  {} not better: {}\n", count, reason);
}

Json document_of(const Program& program, const Plan& plan) {
  Json kernels = Json::array();
  for (const PlannedKernel& kernel : plan.kernels) {
    const Choice& choice = kernel.choice;
    kernels.push_back({{"workload_key", kernel.task.key},
                       {"workload", kernel.task.workload.summary()},
                       {"steps", kernel.task.steps},
                       {"onnx_nodes", nodes_of(program, kernel)},
                       {"config", to_json(choice.config)},
                       {"rung", std::string(name(choice.rung))},
                       {"evidence", choice.evidence ? Json(evidence_text(choice)) : Json()},
                       {"measured_on", choice.measured_on},
                       {"record", choice.record_key},
                       {"trials", choice.trials},
                       {"default_us", choice.default_us},
                       {"best_us", choice.best_us},
                       {"why", choice.why},
                       {"refused", choice.refused},
                       {"cubin_hash", kernel.hashes.cubin},
                       {"code", kernel.code.cubin.empty() ? Json() : Json(code_statement(kernel))}});
  }
  return {{"schema", "warpwright.build/1"}, {"target", text(plan.target)}, {"kernels", kernels}};
}

/// Kernels below the rung that is asked for, each with its reason.
std::vector<std::string> misses(const Program& program, const Plan& plan, const Options& options) {
  std::vector<std::string> lines;
  const Rung least = rung_from_name(options.require_hit);
  for (const PlannedKernel& kernel : plan.kernels) {
    const Choice& choice = kernel.choice;
    if (is_hit(choice, least, plan.target, policy_of(options.evidence))) continue;
    const std::string evidence = choice.evidence ? fmt::format(" with {} evidence", evidence_text(choice)) : "";
    lines.push_back(fmt::format("{} (ONNX {}): {}{}{}{}", kernel.task.workload.summary(),
                                short_list(nodes_of(program, kernel)), name(choice.rung), evidence,
                                choice.why.empty() ? "" : ": ", choice.why));
  }
  return lines;
}

struct Earlier {
  std::string name;
  std::map<std::string, std::string> cubins;  // by workload key
};

/// What was built before: the package that -o replaces, else the lock.
std::optional<Earlier> earlier_build(const Options& options, const LockFile& lock, const BuildTarget& target) {
  if (!options.output.empty() && is_package(options.output)) {
    try {
      return Earlier{options.output, PackageFile(options.output).cubin_hashes(key(target.target))};
    } catch (const UsageError& error) {
      log_warning("{}; it is replaced", error.what());
    }
  }
  if (options.lock.empty()) return std::nullopt;
  Earlier earlier{options.lock, {}};
  for (const auto& [workload_key, entry] : lock.entries()) earlier.cubins[workload_key] = entry.code.cubin;
  return earlier;
}

int unchanged_cubins(const Plan& plan, const Earlier& earlier) {
  int unchanged = 0;
  for (const PlannedKernel& kernel : plan.kernels) {
    const auto before = earlier.cubins.find(kernel.task.key);
    unchanged += before != earlier.cubins.end() && before->second == kernel.hashes.cubin;
  }
  return unchanged;
}

void print_code(const Plan& plan) {
  std::map<std::string, int> statements;
  for (const PlannedKernel& kernel : plan.kernels) ++statements[code_statement(kernel)];
  for (const auto& [statement, count] : statements) fmt::print("{} kernels: {}\n", count, statement);
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

/// Writes what is asked for and says what changed.
void write_build(const Options& options, const Model& model, const LockFile& lock, const Plan& plan, Json& document) {
  const auto earlier = earlier_build(options, lock, plan.target);
  const Package package = make_package(model.program, plan);
  write_package(options.output, std::span(&package, 1), manifest_of(plan, model.digest));
  if (!options.write_lock.empty()) lock_of(plan).write(options.write_lock);
  document = document_of(model.program, plan);
  document["package"] = options.output;
  document["digest"] = PackageFile(options.output).digest();
  if (earlier) document["unchanged_cubins"] = unchanged_cubins(plan, *earlier);
  if (options.json) return;
  print_kernels(model.program, plan);
  print_rungs(plan);
  print_code(plan);
  if (earlier) {
    fmt::print("{} of {} cubins unchanged since {}\n", unchanged_cubins(plan, *earlier), plan.kernels.size(),
               earlier->name);
  }
  fmt::print("{} {}\n", options.output, document["digest"].get<std::string>());
}

int build(const Options& options) {
  check_files(options);
  const LockFile lock = options.lock.empty() ? LockFile() : LockFile::read(options.lock);
  std::unique_ptr<Database> database;
  if (!options.databases.empty()) {
    database = open_databases(Paths(options.databases.begin(), options.databases.end()));
  }
  const Model model = read_model(options.model, parse_shapes(options.shapes));
  const BuildTarget target = choose_target(options, lock, database.get());
  const BestHistory history(database.get(), target, policy_of(options.evidence));
  Chooser chooser = [&](const Task& task) { return history.choose(task); };
  if (!options.lock.empty()) chooser = lock_chooser(lock, target, chooser);
  Plan plan = make_plan(model.program, target, chooser);
  Json document = document_of(model.program, plan);
  const std::vector<std::string> missed =
      options.require_hit.empty() ? std::vector<std::string>() : misses(model.program, plan, options);
  document["misses"] = missed;
  if (!missed.empty() || options.dry_run) {
    if (!options.json) {
      print_kernels(model.program, plan);
      print_rungs(plan);
    }
  } else {
    if (const int status = compile_plan(options, plan); status != 0) return status;
    write_build(options, model, lock, plan, document);
  }
  if (options.json) fmt::print("{}\n", json_document(document));
  for (const std::string& miss : missed) log_warning("miss: {}", miss);
  if (missed.empty()) return kDone;
  log_warning("{} of {} kernels miss --require-hit {}; nothing is written", missed.size(), plan.kernels.size(),
              options.require_hit);
  return kAnswerIsNo;
}

}  // namespace

VerbBody build_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the ONNX model")->required();
  app.add_option("--db", options->databases, "a database of `tune`; several are read as if merged")
      ->allow_extra_args(false);
  app.add_option(
      "--target", options->target,
      "the card: rtx4090, virtual:rtx4090, FILE.json of `devices --json`, auto (default: the lock's, the one "
      "device of the records, or auto)");
  app.add_option("-o,--output", options->output, "the package to write");
  app.add_option("--shape", options->shapes, "bind the shape of an input: NAME=1,3,224,224")->allow_extra_args(false);
  app.add_option("--require-hit", options->require_hit, "exit 1 unless every kernel is at least on this rung")
      ->check(CLI::IsMember({"exact", "arch", "near"}));
  app.add_option("--evidence", options->evidence,
                 "silicon: silicon records alone; any: virtual records count as hits too (default: the target's own "
                 "evidence counts, the other kind serves where there is none)")
      ->check(CLI::IsMember({"silicon", "any"}));
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
