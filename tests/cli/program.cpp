// fork and exec, with the output through files.
#include "tests/cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "src/core/file.h"

namespace warpwright {
namespace {

std::string whole(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void redirect(int descriptor, const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(file, descriptor);
}

ProgramResult run(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                  int signal, unsigned seconds) {
  const TemporaryFolder folder("warpwright-cli-test");
  const auto out = folder.path() / "out", err = folder.path() / "err";
  std::vector<char*> argv{const_cast<char*>(WARPWRIGHT_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    redirect(STDOUT_FILENO, out);
    redirect(STDERR_FILENO, err);
    execv(WARPWRIGHT_PROGRAM, argv.data());
    _exit(127);
  }
  if (signal != 0) {
    sleep(seconds);
    kill(child, signal);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), whole(out), whole(err)};
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment) {
  return run(arguments, environment, 0, 0);
}

ProgramResult interrupt_program(const std::vector<std::string>& arguments, int signal, unsigned seconds) {
  return run(arguments, {}, signal, seconds);
}

bool is_one_error_line(const std::string& err) {
  return err.starts_with("warpwright: error: ") && std::count(err.begin(), err.end(), '\n') == 1 && err.ends_with('\n');
}

std::filesystem::path test_data() { return std::filesystem::path(WARPWRIGHT_SOURCE_DIR) / "tests/data"; }

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace warpwright
