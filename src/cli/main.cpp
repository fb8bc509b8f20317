// The command line: the list of verbs, and how a failure becomes a line on stderr and an exit status.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "src/cli/verb.h"
#include "src/core/error.h"
#include "src/core/printable.h"
#include "src/runtime/session.h"

namespace warpwright {
namespace {

struct Verb {
  const char* name;
  VerbBody (*set_up)(CLI::App& app);
  const char* help;
};

constexpr std::array<Verb, 10> kVerbs{{
    {"devices", devices_verb, "list the devices that --device takes"},
    {"doctor", doctor_verb, "check what tuning needs: driver, compiler, a kernel, memory, clocks, disk, database"},
    {"extract", extract_verb, "list the tasks of a model: its unique operators with their spaces"},
    {"tune", tune_verb, "measure kernels for a model on a device and record them in a database"},
    {"build", build_verb, "make a package from a model and the best records"},
    {"run", run_verb, "run a model or a package on .npy inputs"},
    {"bench", bench_verb, "time a package, whole and by kernel"},
    {"verify", verify_verb, "compare a package with the reference or with expected outputs"},
    {"db", db_verb, "databases: look into them, merge, export, check"},
    {"worker", worker_verb, ""},  // started by the program itself; not in the help
}};

constexpr const char* kAbout =
    "Warpwright tunes quantized ONNX models for NVIDIA GPUs: extract, tune, build, then run, bench and verify.\n"
    "Exit status: 0 done; 1 the answer is no; 2 wrong usage or input; 3 the environment lacks something;\n"
    "129, 130, 141, 143 ended by a signal.";

/// Messages of several lines become one.
int fail(int status, std::string message) {
  std::string line;
  for (char letter : message) {
    if (letter == '\n') {
      line += line.ends_with(':') ? " " : "; ";
    } else if (letter != ' ' || !line.ends_with(' ')) {
      line += letter;
    }
  }
  while (line.ends_with(' ') || line.ends_with(';')) line.pop_back();
  std::fprintf(stderr, "warpwright: error: %s\n", printable(line).c_str());
  return status;
}

/// An empty value is none: an option that is there and says nothing is a slip, as of an unset variable of a script.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.parse_order()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) throw UsageError(option->get_name() + " ``: is empty; give it a value, or leave it out");
    }
  }
  for (const CLI::App* verb : app.get_subcommands()) refuse_empty_values(*verb);
}

/// `words` are the arguments: verbs stand first in them.
int parse_failure(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const CLI::App* called = &app;
  std::string call = app.get_name();
  size_t depth = 0;
  for (; !called->get_subcommands().empty(); ++depth) {
    called = called->get_subcommands()[0];
    call += " " + called->get_name();
  }
  std::string verbs;
  for (const CLI::App* verb :
       called->get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
  }
  std::string what = error.what();
  if (!verbs.empty()) {
    const std::string of = depth == 0 ? "" : " of " + called->get_name();
    what = depth < words.size() ? "`" + words[depth] + "` is no verb" + of : "name a verb" + of;
    what += "; there are " + verbs;
  }
  return fail(kWrongUsage, what + " (see `" + call + " --help`)");
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "warpwright");
  app.set_version_flag("--version", "warpwright " WARPWRIGHT_VERSION);
  app.require_subcommand(1);
  std::array<VerbBody, kVerbs.size()> bodies;
  for (size_t i = 0; i < kVerbs.size(); ++i) {
    CLI::App* verb = app.add_subcommand(kVerbs[i].name, kVerbs[i].help);
    if (*kVerbs[i].help == '\0') verb->group("");
    bodies[i] = kVerbs[i].set_up(*verb);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error, {argv + 1, argv + std::max(1, argc)});
  }
  refuse_empty_values(app);
  for (size_t i = 0; i < kVerbs.size(); ++i) {
    if (app.got_subcommand(kVerbs[i].name)) return bodies[i]();
  }
  throw InternalError("no verb was parsed");
}

int output_failure(int error) {
  return fail(kEnvironmentLacks, std::string("standard output cannot be written: ") + std::strerror(error) +
                                     "; is the disk full that it goes to?");
}

int guarded_run(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that would grow beyond `ulimit -f` is an error like a full disk
  try {
    const int status = run(argc, argv);
    errno = EIO;
    const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    return is_written || status > kAnswerIsNo ? status : output_failure(errno);  // a signal's status says more
  } catch (const UsageError& error) {
    return fail(kWrongUsage, error.what());
  } catch (const EnvironmentError& error) {
    return fail(kEnvironmentLacks, error.what());
  } catch (const LaunchFault& error) {
    return fail(kAnswerIsNo, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kEnvironmentLacks, "out of host memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(kEnvironmentLacks, error.path1().string() + ": " + error.code().message() +
                                       "; check the name, its folder and the permissions");
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return output_failure(error.code().value());
    return fail(kEnvironmentLacks, error.what());
  } catch (const std::exception& error) {
    return fail(kBrokenProgram, std::string("internal: ") + error.what());
  }
}

}  // namespace
}  // namespace warpwright

int main(int argc, char** argv) { return warpwright::guarded_run(argc, argv); }
