// `build NEW --lock OLD.lock`: weights trained anew keep the code, another structure is told.
#include <fmt/format.h>

#include "src/runtime/package.h"
#include "tests/cli/edited_model.h"
#include "tests/cli/program_fixture.h"

namespace warpwright {
namespace {

class BuildLock : public ProgramTest {
 protected:
  std::string lock() {
    const std::string db = write_database("some.db", 0, tasks_.size());
    run(build({"--db", db, "-o", path("old.pkg"), "--write-lock", path("old.lock")}));
    return path("old.lock");
  }
  std::vector<std::string> build_new(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"build", path("new.onnx"), "--shape", shape_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// Of each kernel, as the manifest has it.
  std::vector<Json> field(const std::string& package, const std::string& name) const {
    const PackageFile file(path(package));
    std::vector<Json> list;
    for (const Json& kernel : file.manifest()["kernels"]) list.push_back(kernel[name]);
    return list;
  }
};

TEST_F(BuildLock, NewWeightsKeepConfigsAndCode) {
  const std::string file = lock();
  write_file(path("new.onnx"), retrained(read_file(model_), model_));
  // An older package in the place of the new one is not what it is compared with.
  std::filesystem::copy_file(path("old.pkg"), path("new.pkg"));
  const std::string text = run(build_new({"--lock", file, "-o", path("new.pkg")}));
  EXPECT_NE(text.find(fmt::format("{0} of {0} cubins unchanged since {1}, weights packed from {2}\n", tasks_.size(),
                                  file, path("new.onnx"))),
            std::string::npos)
      << text;
  EXPECT_EQ(err_, "");
  EXPECT_EQ(field("new.pkg", "config"), field("old.pkg", "config"));
  EXPECT_NE(read_file(path("new.pkg")), read_file(path("old.pkg")));
  // The records behind the Configs are known to package and lock.
  EXPECT_EQ(field("new.pkg", "record"), field("old.pkg", "record"));
  for (const Json& record : field("new.pkg", "record")) EXPECT_NE(record, "");
}

TEST_F(BuildLock, AnotherStructureIsToldTaskByTask) {
  const std::string file = lock();
  write_file(path("new.onnx"), with_other_strides(read_file(model_)));
  const std::string text = run(build_new({"--lock", file, "-o", path("new.pkg")}));
  EXPECT_NE(
      text.find(fmt::format("7 of 9 cubins unchanged since {}, weights packed from {}\n", file, path("new.onnx"))),
      std::string::npos)
      << text;
  EXPECT_TRUE(says("2 of 9 tasks have no Config in " + file)) << err_;
  EXPECT_TRUE(says("not locked: conv2d 1x4x4x32 -> 4x4x48 k3x3 s1 s8*s8 (ONNX conv4")) << err_;
  EXPECT_TRUE(says("no line in the lock file")) << err_;
  EXPECT_TRUE(says("2 of 9 lines in " + file + " are for tasks that the model does not have")) << err_;
  EXPECT_NE(text.find("  other cubin: conv2d 1x4x4x32 -> 4x4x48"), std::string::npos) << text;
  const Json document = run_json(build_new({"--lock", file, "--dry-run"}));
  ASSERT_EQ(document["not_locked"].size(), 2u);
  EXPECT_EQ(document["not_locked"][0]["onnx_nodes"].at(0), "conv4");
  EXPECT_EQ(document["unused_lock_lines"], 2);
  EXPECT_FALSE(document.contains("changed_cubins"));
  // A gate makes a refusal of it.
  run(build_new({"--lock", file, "-o", path("none.pkg"), "--require-hit", "exact"}), 1);
  EXPECT_TRUE(says("2 of 9 kernels miss --require-hit exact")) << err_;
}

TEST_F(BuildLock, ALockForAnotherCardServesNoTask) {
  const std::string file = lock();
  std::filesystem::copy_file(model_, path("new.onnx"));
  const Json document = run_json(build_new({"--lock", file, "--target", "rtx3090", "--dry-run"}));
  EXPECT_EQ(document["not_locked"].size(), tasks_.size());
  EXPECT_EQ(document["unused_lock_lines"], 0);
  EXPECT_TRUE(says("the lock file's line is for target rtx4090") && says("1 more (--json)")) << err_;
}

TEST_F(BuildLock, AFaultyLineIsNamedByFileLineAndField) {
  const std::string file = lock();
  const std::string text = read_file(file);
  const std::vector<std::string> lines = [&] {
    std::vector<std::string> all;
    LineReader reader(file, 1 << 20);
    for (std::string line; reader.next(line);) all.push_back(line);
    return all;
  }();
  std::filesystem::copy_file(model_, path("new.onnx"));
  const std::string wrong = path("wrong.lock");
  const auto refuse = [&](const std::string& second_line, const std::string& field) {
    write_file(wrong, lines[0] + "\n" + second_line + "\n");
    run(build_new({"--lock", wrong, "--dry-run"}), 2);
    EXPECT_TRUE(is_one_error_line(err_) && says(wrong + ": line 2") && says(field)) << err_;
    EXPECT_FALSE(says("json.exception")) << err_;
  };
  const Json good = parse_json(lines[1]);
  for (const auto& [name, value] : good.items()) {
    if (name == "record" || name == "measured_workload" || name == "why") continue;  // came later
    Json without = good;
    without.erase(name);
    refuse(without.dump(), name == "schema" ? "schema" : "`" + name + "`");
  }
  const std::vector<std::pair<std::string, Json>> changes = {
      {"best_us", "x"},          {"best_us", -5},   {"default_us", -1},      {"trials", -5}, {"trials", 1.5},
      {"trials", "many"},        {"target", 4},     {"rung", Json::array()}, {"why", 7},     {"code", "abc"},
      {"measured_code", Json()}, {"evidence", true}};
  for (const auto& [name, value] : changes) {
    Json changed = good;
    changed[name] = value;
    refuse(changed.dump(), "`" + name + "`");
  }
  for (const std::string& hash : std::vector<std::string>{"0", "", std::string(64, 'g'), std::string(65, '0')}) {
    Json changed = good;
    changed["code"]["cubin"] = hash;
    refuse(changed.dump(), "`cubin`");
  }
  Json workload = good;
  workload["workload"]["kind"] = 7;
  refuse(workload.dump(), "Workload");
  refuse(lines[1].substr(0, 100), "no JSON");
  refuse(std::string(5 << 20, ' '), "bytes");
  // Ends of lines of another system.
  std::string crlf;
  for (const std::string& line : lines) crlf += line + "\r\n";
  write_file(path("crlf.lock"), crlf);
  const std::string same = run(build_new({"--lock", file, "--dry-run"}));
  EXPECT_EQ(run(build_new({"--lock", path("crlf.lock"), "--dry-run"})), same);
}

}  // namespace
}  // namespace warpwright
