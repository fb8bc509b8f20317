// Outputs: what they may replace, and what is left of one that could not be written.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "src/core/npy.h"
#include "tests/cli/program_fixture.h"

namespace warpwright {
namespace {

class Outputs : public ProgramTest {
 protected:
  void SetUp() override {
    db_ = write_database("a.db", 0, tasks_.size());
    write_npy(path("in.npy"), Tensor(DType::f32, {1, 1, 8, 8}));
    for (const Output& output : outputs()) run(output.command(path(output.kind)));
    std::filesystem::copy_file(model_, path("model"));
    write_file(path("text"), "{\"a\":1}\n");
  }

  struct Output {
    std::string kind;
    std::function<std::vector<std::string>(const std::string& file)> command;
  };
  std::vector<Output> outputs() const {
    return {{"package",
             [&](const auto& file) {
               return build({"--db", db_, "-o", file});
             }},
            {"lock",
             [&](const auto& file) {
               return build({"--db", db_, "-o", path("b.pkg"), "--write-lock", file});
             }},
            {"misses",
             [&](const auto& file) {
               return build({"--dry-run", "--misses-out", file});
             }},
            {"export", [&](const auto& file) {
               return std::vector<std::string>{"db", "export", db_, "-o", file};
             }}};
  }

  std::string db_;
};

TEST_F(Outputs, ReplaceFilesOfTheirKindAndEmptyOnesAlone) {
  // As an earlier version wrote it.
  write_file(path("old.jsonl"), "{\"schema\":\"warpwright.records/1\"}\n");
  run({"db", "export", db_, "-o", path("old.jsonl")});
  for (const Output& output : outputs()) {
    SCOPED_TRACE(output.kind);
    run(output.command(path(output.kind)));
    write_file(path("none"), "");
    run(output.command(path("none")));
    EXPECT_EQ(read_file(path("none")), read_file(path(output.kind)));
    for (const std::string other : {"package", "lock", "misses", "export", "a.db", "in.npy", "model", "text"}) {
      if (other == output.kind) continue;
      const std::string before = read_file(path(other));
      run(output.command(path(other)), 2);
      EXPECT_TRUE(says(path(other))) << err_;
      EXPECT_EQ(read_file(path(other)), before) << other;
    }
  }
  // A database replaces nothing at all.
  for (const std::string file : {"package", "none", "a.db"}) run({"db", "merge", db_, "-o", path(file)}, 2);
}

TEST_F(Outputs, ReplaceNoPipeNoFolderAndNoLink) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink(path("lock"), path("link"));
  std::vector<Output> all = outputs();
  all.push_back({"merge", [&](const auto& file) { return std::vector<std::string>{"db", "merge", db_, "-o", file}; }});
  for (const Output& output : all) {
    SCOPED_TRACE(output.kind);
    for (const std::string place : {"pipe", "folder", "link"}) {
      run(output.command(path(place)), 2);
      EXPECT_TRUE(says(path(place))) << err_;
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
}

TEST_F(Outputs, OfTwoThatNameOneFile) {
  run(build({"--db", db_, "-o", path("new"), "--write-lock", path("./new")}), 2);
  EXPECT_TRUE(says("two outputs")) << err_;
}

TEST_F(Outputs, OfRunReplaceTensorsAlone) {
  const std::vector<std::string> command{"run", model_, "--input", "image=" + path("in.npy"), "--output", path("out")};
  run(command);
  run(command);
  std::filesystem::copy_file(db_, path("out/logits.npy"), std::filesystem::copy_options::overwrite_existing);
  run(command, 2);
  EXPECT_TRUE(says("logits.npy: exists and is no .npy file")) << err_;
  EXPECT_EQ(read_file(path("out/logits.npy")), read_file(db_));
}

/// Runs with files of at most so many bytes, as `ulimit -f` has it.
ProgramResult run_with_file_limit(const std::vector<std::string>& command, rlim_t bytes) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{bytes, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const ProgramResult result = run_program(command);
  setrlimit(RLIMIT_FSIZE, &before);
  return result;
}

TEST_F(Outputs, BeyondTheLimitOfFileSizesAreToldAndLeaveNothing) {
  std::vector<Output> all = outputs();
  std::erase_if(all, [](const Output& output) { return output.kind == "misses"; });
  all.push_back({"merge", [&](const auto& file) { return std::vector<std::string>{"db", "merge", db_, "-o", file}; }});
  const std::vector<std::string> before = files_in(folder_.path());
  for (const Output& output : all) {
    SCOPED_TRACE(output.kind);
    const ProgramResult result = run_with_file_limit(output.command(path("new")), 4096);
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_TRUE(is_one_error_line(result.err)) << result.err;
    EXPECT_EQ(files_in(folder_.path()), before);
  }
}

TEST_F(Outputs, AFullStandardOutputIsAnError) {
  for (const std::string verb : {"export", "list"}) {
    const std::string command =
        std::string(WARPWRIGHT_PROGRAM) + " db " + verb + " " + db_ + " >/dev/full 2>" + path("err");
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3);
    const std::string err = read_file(path("err"));
    EXPECT_TRUE(is_one_error_line(err) && err.find("standard output") != std::string::npos) << err;
  }
}

TEST_F(Outputs, OnAFullDiskAreToldAndLeaveNothing) {
  std::filesystem::create_directory(path("disk"));
  if (mount("none", path("disk").c_str(), "tmpfs", 0, "size=8k") != 0) {
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  }
  for (const std::string verb : {"merge", "export"}) {
    run({"db", verb, db_, "-o", path("disk/new")}, 3);
    EXPECT_TRUE(says(path("disk/new"))) << err_;
    EXPECT_EQ(files_in(path("disk")), std::vector<std::string>());
  }
  umount(path("disk").c_str());
}

}  // namespace
}  // namespace warpwright
