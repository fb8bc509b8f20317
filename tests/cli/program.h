// Runs the built program as a user does, and folders to do it in.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warpwright {

struct ProgramResult {
  int status = -1;  // exit status, or -signal
  std::string out, err;
};

/// `environment` is added to the own one.
ProgramResult run_program(const std::vector<std::string>& arguments,
                          const std::map<std::string, std::string>& environment = {});
/// Sends `signal` after `seconds`.
ProgramResult interrupt_program(const std::vector<std::string>& arguments, int signal, unsigned seconds);

/// Exactly one line, which begins as every error does.
bool is_one_error_line(const std::string& err);

std::filesystem::path test_data();

/// Names of all files in the folder, below it too.
std::vector<std::string> files_in(const std::filesystem::path& folder);

}  // namespace warpwright
