// The list of subjects.
#include "tests/fuzz/harness/subject.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "src/core/error.h"

namespace warpwright::testing {

namespace {

using Makers = std::map<std::string, std::function<std::unique_ptr<Subject>()>, std::less<>>;

const Makers& makers() {
  static const Makers list{{"model", model_subject},
                           {"package", package_subject},
                           {"database", database_subject},
                           {"export", export_subject}};
  return list;
}

}  // namespace

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers()) names.push_back(name);
  return names;
}

std::unique_ptr<Subject> subject_named(std::string_view name) {
  const auto found = makers().find(name);
  if (found == makers().end()) {
    throw UsageError(fmt::format("there is no subject {}; there are {}", name, fmt::join(subject_names(), ", ")));
  }
  return found->second();
}

}  // namespace warpwright::testing
