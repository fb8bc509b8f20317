// Fixture: the program on a small model, with databases that hold records of its tasks as `tune` would have left them.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <vector>

#include "src/core/file.h"
#include "src/core/json_text.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "tests/cli/program.h"
#include "tests/compile/task_records.h"

namespace warpwright {

class ProgramTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// Checks the exit status; gives stdout, and leaves stderr in err_.
  std::string run(const std::vector<std::string>& arguments, int status = 0) {
    const ProgramResult result = run_program(arguments);
    err_ = result.err;
    EXPECT_EQ(result.status, status) << result.err << result.out;
    return result.out;
  }
  Json run_json(std::vector<std::string> arguments, int status = 0) {
    arguments.emplace_back("--json");
    return parse_json(run(arguments, status));
  }
  bool says(const std::string& text) const { return err_.find(text) != std::string::npos; }

  const std::string model_ = (test_data() / "models/digits_qat/model.onnx").string(), shape_ = "image=1,1,8,8";
  const std::vector<Task> tasks_ = extract_tasks(lower(import_onnx(model_, {{"image", {1, 1, 8, 8}}})));

  /// `build` of the model for the card, with more arguments.
  std::vector<std::string> build(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"build", model_, "--shape", shape_, "--target", "rtx4090"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// For each of those tasks the default and, where there is one, a Config that takes half of its time.
  std::string write_database(const std::string& name, size_t first, size_t last, const TestCard& card = {}) const {
    const auto database = open_database(path(name), OpenMode::read_write);
    const std::string device =
        task_record(tasks_[0], some_configs(tasks_[0], target_preset("rtx4090"), 1)[0], {1}, card).device_name;
    const int64_t run =
        database->begin_run({"digest of " + name, device, 1, Json::object()}, "secret.onnx", "tune secret.onnx").id;
    int64_t index = 0;
    for (size_t i = first; i < last; ++i) {
      double us = 10;
      for (const Config& config : some_configs(tasks_[i], target_preset("rtx4090"), 2)) {
        Record record = task_record(tasks_[i], config, {us, us, us}, card);
        record.run_id = run;
        record.trial_index = index++;
        database->add(record);
        us /= 2;
      }
    }
    database->end_run(run, "trials", {{"trials", index}});
    database->close();
    return path(name);
  }

  /// For tests that damage a database.
  static void execute_sql(const std::string& file, const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }

  TemporaryFolder folder_{"warpwright-program"};
  std::string err_;
};

}  // namespace warpwright
