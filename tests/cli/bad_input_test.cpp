// Bad input: one clear line, the right exit status, no file left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/database.h"
#include "src/core/file.h"
#include "src/core/npy.h"
#include "tests/cli/program.h"

namespace warpwright {
namespace {

class BadInput : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string model() const { return (test_data() / "models/digits_qat/model.onnx").string(); }

  /// The program refuses with `status`, names every one of `words`, and the folder holds what it held before.
  void expect_refusal(const std::vector<std::string>& arguments, int status, const std::vector<std::string>& words,
                      const std::map<std::string, std::string>& environment = {}) {
    const std::vector<std::string> before = files_in(folder_.path());
    const ProgramResult result = run_program(arguments, environment);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_TRUE(is_one_error_line(result.err)) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << "\n" << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(files_in(folder_.path()), before);
  }

  TemporaryFolder folder_{"warpwright-bad-input"};
};

TEST_F(BadInput, MissingFile) {
  expect_refusal({"extract", path("absent.onnx")}, 2, {"absent.onnx"});
  expect_refusal({"build", path("absent.onnx"), "--target", "rtx4090", "-o", path("p.pkg")}, 2, {"absent.onnx"});
  expect_refusal({"run", path("absent.onnx"), "--output", path("out")}, 2, {"absent.onnx"});
  expect_refusal({"bench", path("absent.pkg"), "--device", "virtual:rtx4090"}, 2, {"absent.pkg"});
}

TEST_F(BadInput, NoOnnx) {
  write_file(path("text.onnx"), "this is a text, not a network\n");
  expect_refusal({"extract", path("text.onnx")}, 2, {"text.onnx"});
}

TEST_F(BadInput, TruncatedOnnx) {
  const std::string bytes = read_file(model());
  write_file(path("half.onnx"), bytes.substr(0, bytes.size() / 2));
  expect_refusal({"build", path("half.onnx"), "--target", "rtx4090", "-o", path("p.pkg")}, 2, {"half.onnx"});
}

TEST_F(BadInput, UnsupportedOperatorsAreAllNamed) {
  const std::string bad = (test_data() / "cases/bad_unsupported_operators/model.onnx").string();
  expect_refusal({"extract", bad}, 2, {"DFT_spectrum", "NonZero_places", "Unique_unique", "--skip-unsupported"});
}

TEST_F(BadInput, UnknownVerbsAndPassesAreNamed) {
  expect_refusal({"db", "look"}, 2, {"`look`", "stats", "merge"});
  expect_refusal({"extract", model(), "--after", "nopass"}, 2, {"--after", "nopass", "fold_constants"});
}

TEST_F(BadInput, DynamicShapeWithoutBinding) {
  expect_refusal({"build", model(), "--target", "rtx4090", "-o", path("p.pkg")}, 2, {"image", "--shape"});
  expect_refusal({"tune", model(), "--db", path("d.db"), "--device", "virtual:rtx4090"}, 2, {"image", "--shape"});
}

TEST_F(BadInput, ShapeThatDoesNotFit) {
  expect_refusal({"extract", model(), "--shape", "image=1,1,9,8"}, 2, {"image"});
  expect_refusal({"extract", model(), "--shape", "image=1,1,8,8", "--shape", "picture=1,1,8,8"}, 2, {"picture"});
  expect_refusal({"extract", model(), "--shape", "picture=1,1,8,8"}, 2, {"picture", "image"});
  expect_refusal({"extract", model(), "--shape", "image=1,1,x,8"}, 2, {"x"});
}

TEST_F(BadInput, WrongInputName) {
  write_npy(path("x.npy"), Tensor(DType::f32, {1, 1, 8, 8}));
  const std::string npy = path("x.npy");
  expect_refusal({"run", model(), "--shape", "image=1,1,8,8", "--input", "picture=" + npy, "--output", path("out")}, 2,
                 {"picture", "image"});
  expect_refusal({"run", model(), "--input", "image=" + npy, "--input", "picture=" + npy, "--output", path("out")}, 2,
                 {"picture"});
  expect_refusal({"run", model(), "--input", "picture=" + npy, "--output", path("out")}, 2, {"picture", "image"});
}

TEST_F(BadInput, WrongInputTypeAndShape) {
  write_npy(path("codes.npy"), Tensor(DType::u8, {1, 1, 8, 8}));
  write_npy(path("wide.npy"), Tensor(DType::f32, {1, 1, 8, 9}));
  expect_refusal({"run", model(), "--input", "image=" + path("codes.npy"), "--output", path("out")}, 2,
                 {"image", "u8"});
  expect_refusal({"run", model(), "--input", "image=" + path("wide.npy"), "--output", path("out")}, 2,
                 {"image", "1,1,8,9"});
  expect_refusal({"run", model(), "--input", "image=" + path("none.npy"), "--output", path("out")}, 2, {"none.npy"});
}

TEST_F(BadInput, DatabaseThatIsSomethingElse) {
  write_file(path("text.db"), std::string(4096, 'x'));
  const std::string before = read_file(path("text.db"));
  expect_refusal({"db", "stats", path("text.db")}, 2, {"text.db"});
  expect_refusal({"tune", model(), "--shape", "image=1,1,8,8", "--db", path("text.db"), "--device", "virtual:rtx4090"},
                 2, {"text.db"});
  EXPECT_EQ(read_file(path("text.db")), before);
}

TEST_F(BadInput, DatabaseThatIsNewer) {
  open_database(path("new.db"), OpenMode::read_write)->close();
  std::string bytes = read_file(path("new.db"));
  bytes[63] = 99;  // user_version in the header of an SQLite file
  write_file(path("new.db"), bytes);
  expect_refusal({"db", "stats", path("new.db")}, 2, {"new.db"});
  expect_refusal({"tune", model(), "--shape", "image=1,1,8,8", "--device", "virtual:rtx4090", "--db", path("new.db")},
                 2, {"new.db"});
}

TEST_F(BadInput, MissingDatabase) {
  expect_refusal({"db", "list", path("absent.db")}, 2, {"absent.db"});
  expect_refusal({"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "--db", path("absent.db"), "-o",
                  path("p.pkg")},
                 2, {"absent.db"});
}

TEST_F(BadInput, FolderThatCannotBeWritten) {
  const std::string shape = "image=1,1,8,8";
  expect_refusal({"build", model(), "--shape", shape, "--target", "rtx4090", "-o", path("absent/p.pkg")}, 3,
                 {"absent"});
  expect_refusal({"tune", model(), "--shape", shape, "--device", "virtual:rtx4090", "--db", path("absent/d.db")}, 3,
                 {"absent"});
  expect_refusal({"build", model(), "--shape", shape, "--target", "rtx4090", "-o", "/proc/p.pkg"}, 3, {"/proc"});
}

TEST_F(BadInput, OutputThatIsAnInput) {
  std::filesystem::copy_file(model(), path("m.onnx"));
  expect_refusal({"build", path("m.onnx"), "--shape", "image=1,1,8,8", "--target", "rtx4090", "-o", path("m.onnx")}, 2,
                 {"m.onnx"});
  EXPECT_EQ(read_file(path("m.onnx")), read_file(model()));
}

TEST_F(BadInput, NoNvrtc) {
  expect_refusal({"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "-o", path("p.pkg"), "--nvrtc",
                  path("libnvrtc.so")},
                 3, {"libnvrtc.so"});
}

TEST_F(BadInput, UnknownDevice) {
  const std::string shape = "image=1,1,8,8";
  expect_refusal({"tune", model(), "--shape", shape, "--db", path("d.db"), "--device", "opencl:0"}, 2, {"opencl:0"});
  expect_refusal({"tune", model(), "--shape", shape, "--db", path("d.db"), "--device", "virtual:rtx9"}, 2, {"rtx9"});
  expect_refusal({"build", model(), "--shape", shape, "--target", "rtx9", "-o", path("p.pkg")}, 2, {"rtx9"});
}

TEST_F(BadInput, NoDriver) {
  if (run_program({"devices"}).out.find("cuda:0") != std::string::npos) GTEST_SKIP() << "this machine has a driver";
  write_npy(path("x.npy"), Tensor(DType::f32, {1, 1, 8, 8}));
  expect_refusal({"run", model(), "--input", "image=" + path("x.npy"), "--device", "cuda:0", "--output", path("out")},
                 3, {"driver"});
  expect_refusal({"tune", model(), "--shape", "image=1,1,8,8", "--db", path("d.db"), "--device", "cuda:0"}, 3,
                 {"driver"});
}

TEST_F(BadInput, WrongUsage) {
  expect_refusal({}, 2, {"--help"});
  expect_refusal({"polish"}, 2, {"polish"});
  expect_refusal({"extract"}, 2, {"model"});
  expect_refusal({"extract", model(), "--shape", "image"}, 2, {"--shape"});
  expect_refusal({"extract", model(), "--shape", "image=1,1,8,8", "--after", "nothing"}, 2, {"nothing"});
  expect_refusal({"tune", model(), "--shape", "image=1,1,8,8", "--db", path("d.db"), "--time", "8"}, 2, {"8"});
  expect_refusal({"build", model(), "--require-hit", "perfect", "-o", path("p.pkg")}, 2, {"perfect"});
}

TEST_F(BadInput, NumbersOutOfRange) {
  const std::vector<std::vector<std::string>> wrong{{"--trials", "0"},
                                                    {"--trials", "99999999999999999999"},
                                                    {"--seed", "-1"},
                                                    {"--trials-per-task", "4000000000000000000"},
                                                    {"--more", "-1"},
                                                    {"--jobs", "1000000000"},
                                                    {"--patience", "x"},
                                                    {"--time", ""},
                                                    {"--time", "99999999999999h"}};
  for (const auto& flag : wrong) {
    std::vector<std::string> arguments{"tune", model(),      "--shape",  "image=1,1,8,8",
                                       "--db", path("d.db"), "--device", "virtual:rtx4090"};
    arguments.insert(arguments.end(), flag.begin(), flag.end());
    expect_refusal(arguments, 2, {"`" + flag[1] + "`"});
  }
  for (const char* tolerance : {"--rtol", "--atol"}) {
    for (const char* value : {"nan", "-nan", "inf", "-1", "1e999", "1x"}) {
      expect_refusal({"verify", model(), "reference", std::string(tolerance) + "=" + value}, 2, {tolerance, value});
    }
  }
  expect_refusal({"verify", model(), "reference", "--lsb=-1"}, 2, {"--lsb", "-1"});
  for (const char* value : {"nan", "inf", "-1", "100.1", "95%"}) {
    expect_refusal({"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "-o", path("p.pkg"),
                    std::string("--min-time-coverage=") + value},
                   2, {"--min-time-coverage", value, "100"});
  }
  for (const char* value : {"nans", "infh", "-1h"}) {
    expect_refusal({"tune", model(), "--shape", "image=1,1,8,8", "--db", path("d.db"), std::string("--time=") + value},
                   2, {"--time", value});
  }
}

TEST_F(BadInput, EmptyValues) {
  expect_refusal({"build", model(), "-o", path("p.pkg"), "--write-lock", ""}, 2, {"--write-lock", "empty"});
  expect_refusal({"db", "import", model(), "-o", ""}, 2, {"--output", "empty"});
  expect_refusal({"doctor", "--device", "virtual:rtx4090", "--db", ""}, 2, {"--db", "empty"});
  expect_refusal({"extract", ""}, 2, {"model", "empty"});
}

/// Opened, a pipe would be waited for until somebody writes to it.
TEST_F(BadInput, PipesAreNoFiles) {
  const std::string pipe = path("pipe.json"), shape = "image=1,1,8,8", device = "virtual:rtx4090";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  write_npy(path("x.npy"), Tensor(DType::f32, {1, 1, 8, 8}));
  const std::vector<std::vector<std::string>> commands = {
      {"extract", pipe},
      {"extract", model(), "--shape", shape, "--diff", pipe},
      {"tune", model(), "--shape", shape, "--device", device, "--db", pipe},
      {"tune", model(), "--shape", shape, "--device", device, "--db", path("d.db"), "--db", pipe},
      {"tune", "--tasks-from", pipe, "--device", device, "--db", path("d.db")},
      {"build", model(), "--shape", shape, "--target", "rtx4090", "--dry-run", "--db", pipe},
      {"build", model(), "--shape", shape, "--target", "rtx4090", "--dry-run", "--lock", pipe},
      {"build", model(), "--shape", shape, "--target", pipe, "--dry-run"},
      {"run", pipe, "--output", path("out")},
      {"run", model(), "--input", "image=" + pipe, "--output", path("out")},
      {"bench", pipe, "--device", device},
      {"verify", model(), pipe, "--shape", shape, "--device", device, "--input", "image=" + path("x.npy")},
      {"verify", model(), "reference", "--input", "image=" + path("x.npy"), "--expect", "logits=" + pipe},
      {"db", "list", pipe},
      {"db", "check", pipe},
      {"db", "merge", pipe, "-o", path("d.db")},
      {"db", "import", pipe, "-o", path("d.db")},
      {"db", "retract", pipe, "--run", "1", "--reason", "x"}};
  for (const auto& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    expect_refusal(command, 2, {"pipe.json", "no regular file"});
  }
  const ProgramResult doctor = run_program({"doctor", "--device", device, "--db", pipe});
  EXPECT_EQ(doctor.status, 3);
  EXPECT_NE(doctor.out.find("no regular file"), std::string::npos) << doctor.out;
}

TEST_F(BadInput, NamesThatNoFileCanHave) {
  const std::string loop = path("loop"), name = path(std::string(300, 'a'));
  std::filesystem::create_symlink(loop, loop);
  open_database(path("a.db"), OpenMode::read_write)->close();
  for (const std::string& wrong : {loop, name, loop + "/x"}) {
    const std::vector<std::vector<std::string>> commands = {
        {"extract", wrong},
        {"db", "list", wrong},
        {"db", "merge", path("a.db"), "-o", wrong},
        {"db", "export", path("a.db"), "-o", wrong},
        {"db", "import", path("a.db"), "-o", wrong},
        {"run", model(), "--output", wrong},
        {"bench", wrong},
        {"tune", model(), "--shape", "image=1,1,8,8", "--device", "virtual:rtx4090", "--db", wrong},
        {"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "-o", wrong},
        {"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "--dry-run", "--db", wrong},
        {"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "--dry-run", "--lock", wrong},
        {"build", model(), "--shape", "image=1,1,8,8", "--target", "rtx4090", "--dry-run", "--misses-out", wrong}};
    for (const auto& command : commands) {
      SCOPED_TRACE(testing::PrintToString(command));
      const ProgramResult result = run_program(command);
      EXPECT_EQ(result.status, 2);
      EXPECT_TRUE(is_one_error_line(result.err)) << result.err;
    }
  }
}

TEST_F(BadInput, TemporaryFolderThatIsNone) {
  write_file(path("file"), "x");
  for (const std::string& wrong : {path("absent"), path("file")}) {
    expect_refusal({"doctor", "--device", "virtual:rtx4090"}, 3, {"$TMPDIR", wrong}, {{"TMPDIR", wrong}});
  }
}

TEST_F(BadInput, MoreOfARunThatIsNot) {
  const std::vector<std::string> more{"tune",         model(),    "--shape",         "image=1,1,8,8", "--db",
                                      path("new.db"), "--device", "virtual:rtx4090", "--more",        "5"};
  expect_refusal(more, 2, {"--more", "new.db"});
}

TEST_F(BadInput, DatabaseIsNotMadeWhenAnotherIsRefused) {
  const std::vector<std::string> tune{"tune", model(), "--shape", "image=1,1,8,8", "--device", "virtual:rtx4090"};
  std::vector<std::string> missing = tune, empty = tune;
  missing.insert(missing.end(), {"--db", path("new.db"), "--db", path("absent.db")});
  expect_refusal(missing, 2, {"absent.db"});
  empty.insert(empty.end(), {"--db", ""});
  expect_refusal(empty, 2, {"empty"});
}

TEST_F(BadInput, NamesDoNotSteerTheTerminal) {
  const ProgramResult result = run_program({"extract", path("\x1b[31m.onnx")});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
}

TEST_F(BadInput, PackageThatIsDamaged) {
  write_file(path("p.pkg"), "SQLite format 3 but not really");
  expect_refusal({"run", path("p.pkg"), "--output", path("out")}, 2, {"p.pkg"});
  expect_refusal({"bench", model(), "--device", "virtual:rtx4090"}, 2, {"model.onnx", "no package"});
}

}  // namespace
}  // namespace warpwright
