// What several verbs take on the command line, parsed and checked.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/core/tensor.h"
#include "src/runtime/batches.h"

namespace warpwright {

using Paths = std::vector<std::filesystem::path>;

/// `NAME=1,3,224,224` of --shape.
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& arguments);

/// `NAME=x.npy` of --input or --expect (`flag`).
std::map<std::string, std::filesystem::path> parse_files(const std::string& flag,
                                                         const std::vector<std::string>& arguments);
TensorMap read_tensors(const std::map<std::string, std::filesystem::path>& files);

/// Counts of trials and processes: more cannot be meant, and sums of them stay in range.
inline constexpr int64_t kMostTrials = 1'000'000'000, kMostJobs = 1024;
CLI::Validator count_from(int64_t least, int64_t most = kMostTrials);
/// Digits only: a conversion to unsigned would take -1 for a large number.
CLI::Validator whole_number();

/// A finite number in that range.
CLI::Validator number_from(double least, double most = std::numeric_limits<double>::max());

/// An option of one value that is given again for each further one.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& help);

/// What was given to a verb on the command line, in its order, as one line.
std::string given_arguments(const CLI::App& app);

/// `8h`, `30m`, `90s`, `1h30m` of `flag`; seconds.
double parse_duration(const std::string& flag, const std::string& text);
/// Seconds from now to the next HH:MM of this machine's clock, as --until has it.
double seconds_until(const std::string& text);
/// `2:05`, `1:02:05`.
std::string clock_text(double seconds);

/// What is unsafe in a file name becomes `_`. A name of dots alone stays one: put something beside it.
std::string safe_file_name(const std::string& text);
/// NAME.npy with what is unsafe in a file name as `_`.
std::string output_file_name(const std::string& output);
/// Makes the folder where it is missing. Throws EnvironmentError when it cannot be made or written.
void make_output_folder(const std::filesystem::path& folder);

/// Throws UsageError when `output` is one of the files that the verb reads.
void refuse_overwrite(const std::filesystem::path& output, const Paths& inputs);
/// Throws EnvironmentError when the folder of `output` is missing or cannot be written, UsageError for a name that no
/// file can have: before the work, not after.
void check_can_write(const std::filesystem::path& output);

/// What is written to an output. It may replace a file of its own kind and an empty one, and nothing else.
struct OutputKind {
  const char* name;                                   // `lock file`
  bool (*is_one)(const std::filesystem::path& file);  // by its content
};
/// All of the above, before the work: throws UsageError that names `output` when it is an input, or when something is
/// there that would be lost.
void check_output(const std::filesystem::path& output, const OutputKind& kind, const Paths& inputs);

}  // namespace warpwright
