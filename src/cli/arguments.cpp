// Parsing of arguments.
#include "src/cli/arguments.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/npy.h"

namespace warpwright {
namespace {

/// Splits at the last `=`: names of tensors may hold one, shapes do not.
std::pair<std::string, std::string> split_assignment(const std::string& flag, const std::string& argument, size_t at) {
  if (at == std::string::npos || at == 0 || at + 1 == argument.size()) {
    throw UsageError(
        fmt::format("{} {}: write it as NAME={}", flag, argument, flag == "--shape" ? "1,3,224,224" : "FILE.npy"));
  }
  return {argument.substr(0, at), argument.substr(at + 1)};
}

int64_t parse_extent(const std::string& argument, std::string_view text) {
  int64_t extent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (error != std::errc() || end != text.data() + text.size() || extent < 1) {
    throw UsageError(fmt::format("--shape {}: `{}` is no extent", argument, text));
  }
  return extent;
}

}  // namespace

std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& arguments) {
  std::map<std::string, Shape> shapes;
  for (const std::string& argument : arguments) {
    const auto [tensor, extents] = split_assignment("--shape", argument, argument.rfind('='));
    Shape shape;
    for (size_t begin = 0; begin <= extents.size();) {
      const size_t end = std::min(extents.find(',', begin), extents.size());
      shape.push_back(parse_extent(argument, std::string_view(extents).substr(begin, end - begin)));
      begin = end + 1;
    }
    if (!shapes.emplace(tensor, shape).second) throw UsageError(fmt::format("--shape names `{}` twice", tensor));
  }
  return shapes;
}

std::map<std::string, std::filesystem::path> parse_files(const std::string& flag,
                                                         const std::vector<std::string>& arguments) {
  std::map<std::string, std::filesystem::path> files;
  for (const std::string& argument : arguments) {
    const auto [tensor, file] = split_assignment(flag, argument, argument.find('='));
    if (!files.emplace(tensor, file).second) throw UsageError(fmt::format("{} names `{}` twice", flag, tensor));
  }
  return files;
}

TensorMap read_tensors(const std::map<std::string, std::filesystem::path>& files) {
  TensorMap tensors;
  for (const auto& [tensor, file] : files) tensors.emplace(tensor, read_npy(file));
  return tensors;
}

CLI::Validator count_from(int64_t least, int64_t most) {
  const auto fault = [least, most](const std::string& text) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool good = error == std::errc() && end == text.data() + text.size() && count >= least && count <= most;
    return good ? std::string() : fmt::format("`{}` is no whole number from {} to {}", text, least, most);
  };
  return CLI::Validator(fault, "");
}

CLI::Validator whole_number() {
  const auto fault = [](const std::string& text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool good = error == std::errc() && end == text.data() + text.size();
    return good ? std::string() : fmt::format("`{}` is no whole number from 0 to 2^64 - 1", text);
  };
  return CLI::Validator(fault, "");
}

CLI::Validator number_from(double least, double most) {
  const auto fault = [least, most](const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
    if (is_number && number >= least && number <= most) return std::string();
    const bool has_most = most < std::numeric_limits<double>::max();
    return has_most ? fmt::format("`{}` is no number from {} to {}", text, least, most)
                    : fmt::format("`{}` is no finite number from {} up", text, least);
  };
  return CLI::Validator(fault, "");
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& help) {
  // CLI11's own text, `TEXT ...`, would promise several values after one name.
  return app.add_option(name, values, help + "; again for each further one")
      ->allow_extra_args(false)
      ->option_text("TEXT");
}

std::string given_arguments(const CLI::App& app) {
  std::string line = app.get_name();
  std::vector<const CLI::Option*> told;  // an option that is given twice stands in the order twice
  for (const CLI::Option* option : app.parse_order()) {
    if (std::find(told.begin(), told.end(), option) != told.end()) continue;
    told.push_back(option);
    const bool is_flag = option->get_items_expected_max() == 0;
    if (is_flag) line += " " + option->get_name();
    for (const std::string& value : option->results()) {
      if (!is_flag) line += (option->get_positional() ? " " : " " + option->get_name() + " ") + value;
    }
  }
  return line;
}

double parse_duration(const std::string& flag, const std::string& text) {
  double seconds = 0;
  size_t at = 0;
  while (at < text.size()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    at = static_cast<size_t>(end - text.data());
    const char unit = at < text.size() ? text[at] : '\0';
    const double unit_seconds = unit == 'h' ? 3600 : unit == 'm' ? 60 : unit == 's' ? 1 : 0;
    if (error != std::errc() || unit_seconds == 0 || number < 0 || !std::isfinite(number)) {
      throw UsageError(fmt::format("{} `{}`: is no duration; write 8h, 30m, 90s or 1h30m", flag, text));
    }
    seconds += number * unit_seconds;
    ++at;
  }
  constexpr double kMostSeconds = 10 * 365.0 * 24 * 3600;
  if (seconds > kMostSeconds) throw UsageError(fmt::format("{} `{}`: is more than ten years", flag, text));
  if (seconds <= 0) throw UsageError(fmt::format("{} `{}`: is no duration; write 8h, 30m, 90s or 1h30m", flag, text));
  return seconds;
}

double seconds_until(const std::string& text) {
  int hour = -1, minute = -1;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%2d:%2d%c", &hour, &minute, &rest) != 2 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59) {
    throw UsageError(fmt::format("--until `{}`: is no time of day like 07:00", text));
  }
  const time_t now = std::time(nullptr);
  tm then{};
  localtime_r(&now, &then);
  then.tm_hour = hour;
  then.tm_min = minute;
  then.tm_sec = 0;
  then.tm_isdst = -1;
  if (std::mktime(&then) <= now) ++then.tm_mday;  // mktime carries the day over into the next month
  return std::difftime(std::mktime(&then), now);
}

std::string clock_text(double seconds) {
  const int64_t whole = std::llround(std::max(0.0, seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string safe_file_name(const std::string& text) {
  std::string name;
  for (unsigned char letter : text) {
    const bool safe = std::isalnum(letter) || letter == '.' || letter == '_' || letter == '-';
    name += safe ? static_cast<char>(letter) : '_';
  }
  return name;
}

std::string output_file_name(const std::string& output) { return safe_file_name(output) + ".npy"; }

void make_output_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (file_kind(folder) == FileKind::none) std::filesystem::create_directories(folder, error);
  if (file_kind(folder) != FileKind::folder) {
    throw EnvironmentError(fmt::format("{}: the output folder cannot be made: {}", folder.string(),
                                       error ? error.message() : "a file is in its place"));
  }
  check_can_write(folder / "output.npy");
}

void refuse_overwrite(const std::filesystem::path& output, const Paths& inputs) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(output, input, ignored)) {
      throw UsageError(
          fmt::format("{} would be overwritten, but it is an input: choose another name", output.string()));
    }
  }
}

void check_can_write(const std::filesystem::path& output) {
  constexpr size_t kMostNameBytes = 220;  // file systems take 255; temporary files and journals have longer names
  if (const size_t bytes = output.filename().string().size(); bytes > kMostNameBytes) {
    throw UsageError(fmt::format("{}: the name of the file has {} bytes, more than {}; choose a shorter one",
                                 output.string(), bytes, kMostNameBytes));
  }
  std::filesystem::path folder = output.parent_path();
  if (folder.empty()) folder = ".";
  if (file_kind(folder) != FileKind::folder) {
    throw EnvironmentError(fmt::format("{}: the folder {} does not exist", output.string(), folder.string()));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw EnvironmentError(fmt::format("{}: the folder {} cannot be written", output.string(), folder.string()));
  }
  require_replaceable(output);
}

void check_output(const std::filesystem::path& output, const OutputKind& kind, const Paths& inputs) {
  refuse_overwrite(output, inputs);
  check_can_write(output);
  std::error_code error;
  if (file_kind(output) == FileKind::none || std::filesystem::is_empty(output, error) || kind.is_one(output)) return;
  throw UsageError(fmt::format("{}: exists and is no {}: it would be lost; choose another name, or remove it first",
                               output.string(), kind.name));
}

}  // namespace warpwright
