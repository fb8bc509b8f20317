// Databases and their exports as subjects.
#include <algorithm>
#include <fstream>
#include <functional>

#include "database/check.h"
#include "database/database.h"
#include "database/json_lines.h"
#include "database/merge.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/log.h"
#include "tests/database/random_database.h"
#include "tests/fuzz/harness/database_mutation.h"
#include "tests/fuzz/harness/subject.h"

namespace warpwright::testing {

namespace {

constexpr uint64_t kRandomDatabases = 12;  // small ones, so that most mutants are quick to read

/// The databases of the tests and some of our own, by path; or what they are exported as.
std::vector<std::string> seeds(bool as_lines) {
  const TemporaryFolder folder("warpwright-fuzz");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(WARPWRIGHT_SOURCE_DIR "/tests/data/databases")) {
    if (entry.path().extension() == ".db") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (uint64_t seed = 0; seed < kRandomDatabases; ++seed) {
    files.push_back(folder.path() / ("random" + std::to_string(seed)));
    write_random_database(files.back(), seed);
  }
  std::vector<std::string> contents;
  for (const auto& file : files) contents.push_back(as_lines ? canonical_text(file) : read_file(file));
  return contents;
}

const std::string& any_of(const std::vector<std::string>& list, Draw& draw) {
  return list[static_cast<size_t>(draw.between(0, std::ssize(list) - 1))];
}

/// What a build and a look into the database read.
void read_database(const std::filesystem::path& path) {
  const auto database = open_database(path, OpenMode::read_only);
  database->statistics();
  database->list("", "", 10);
  for (const RunInfo& run : database->runs()) database->run_records(run.id);
  for (const std::string& key : database->workload_keys()) {
    for (const Record& record : database->best(key, "", 2)) {
      database->objections(key, record.config_json, record.arch);
      database->default_us(key, record.run_uid);
    }
    database->near(database->workload_json(key), 4);
  }
}

class DatabaseSubject : public Subject {
 public:
  DatabaseSubject() { set_log_level(LogLevel::error); }
  std::string_view name() const override { return "database"; }
  std::string file_name() const override { return "records.db"; }

  void write_mutant(uint64_t seed, const std::filesystem::path& path) const override {
    Draw draw(seed);
    std::ofstream(path, std::ios::binary) << mutated_database(any_of(seeds_, draw), draw);
  }

  /// Every reader has its turn, whatever the others say.
  void read(const std::filesystem::path& path) const override {
    std::string refusal;
    const std::function<void()> readers[] = {[&] { read_database(path); },
                                             [&] { check_database(path, [](const Record&) {}); },
                                             [&] { merge_databases({path}, ""); }};
    for (const auto& reader : readers) {
      try {
        reader();
      } catch (const UsageError& error) {
        refusal = error.what();
      } catch (const EnvironmentError& error) {  // e.g. a header that asks for a write-ahead log where none may be
        refusal = error.what();
      }
    }
    if (!refusal.empty()) throw UsageError(refusal);
  }

 private:
  const std::vector<std::string> seeds_ = seeds(false);
};

class ExportSubject : public Subject {
 public:
  ExportSubject() { set_log_level(LogLevel::error); }
  std::string_view name() const override { return "export"; }
  std::string file_name() const override { return "records.jsonl"; }

  void write_mutant(uint64_t seed, const std::filesystem::path& path) const override {
    Draw draw(seed);
    std::ofstream(path, std::ios::binary) << mutated_lines(any_of(seeds_, draw), draw);
  }

  void read(const std::filesystem::path& path) const override {
    const std::filesystem::path imported = path.string() + ".db";
    std::filesystem::remove(imported);
    import_rows(path, imported);
    read_database(imported);
  }

 private:
  const std::vector<std::string> seeds_ = seeds(true);
};

}  // namespace

std::unique_ptr<Subject> database_subject() { return std::make_unique<DatabaseSubject>(); }
std::unique_ptr<Subject> export_subject() { return std::make_unique<ExportSubject>(); }

}  // namespace warpwright::testing
