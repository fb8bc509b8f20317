// Verb: one word of the command line. Each has a file of its name.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace warpwright {

/// Runs a verb whose options are parsed; gives the exit status.
using VerbBody = std::function<int()>;

// Each adds its options to `app` and gives what runs it.
VerbBody devices_verb(CLI::App& app);
VerbBody doctor_verb(CLI::App& app);
VerbBody extract_verb(CLI::App& app);
VerbBody tune_verb(CLI::App& app);
VerbBody build_verb(CLI::App& app);
VerbBody run_verb(CLI::App& app);
VerbBody bench_verb(CLI::App& app);
VerbBody verify_verb(CLI::App& app);
VerbBody db_verb(CLI::App& app);
VerbBody worker_verb(CLI::App& app);

// Exit status.
inline constexpr int kDone = 0;
inline constexpr int kAnswerIsNo = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kEnvironmentLacks = 3;
inline constexpr int kBrokenProgram = 70;

}  // namespace warpwright
