// Subject: a kind of input that comes from outside, how broken ones are made, and what reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace warpwright::testing {

class Subject {
 public:
  virtual ~Subject() = default;

  virtual std::string_view name() const = 0;
  /// The name that an input has in the folder from which it is read.
  virtual std::string file_name() const = 0;
  /// Writes a broken input: the same bytes for the same seed.
  virtual void write_mutant(uint64_t seed, const std::filesystem::path& path) const = 0;
  /// Writes what an input may refer to beside itself; once for a folder.
  virtual void prepare_folder(const std::filesystem::path&) const {}
  /// Reads the input as the program does. Throws UsageError (also EnvironmentError) for what it refuses; anything else
  /// that is thrown is a fault of the reader.
  virtual void read(const std::filesystem::path& path) const = 0;
};

/// ONNX models: import, passes, lowering, tasks, the spaces of all families, and small ones on the reference.
std::unique_ptr<Subject> model_subject();
/// Packages: read, checked, loaded into a session.
std::unique_ptr<Subject> package_subject();

/// Databases: looked into, checked, merged.
std::unique_ptr<Subject> database_subject();
/// Exports of databases, as JSON lines: imported, and the result looked into.
std::unique_ptr<Subject> export_subject();

std::vector<std::string> subject_names();
/// Throws UsageError that lists the names.
std::unique_ptr<Subject> subject_named(std::string_view name);

}  // namespace warpwright::testing
