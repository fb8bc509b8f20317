// Bad input: one clear line, the right exit status, no file left behind.
#include <gtest/gtest.h>
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
  expect_refusal({"verify", model(), "reference", "--rtol", "nan"}, 2, {"tolerance"});
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
