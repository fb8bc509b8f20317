// The C interface on a real package and the virtual device: the same bits as the reference, and errors as status.
#include <gtest/gtest.h>

#include <cstring>

#include "src/compile/package_writer.h"
#include "src/core/file.h"
#include "src/core/npy.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/runtime/warpwright_runtime.h"

namespace warpwright {
namespace {

const std::string kCase = std::string(WARPWRIGHT_SOURCE_DIR) + "/tests/data/cases/block_residual_unrounded_s8/";

void build_package(const std::filesystem::path& path) {
  const Program program = lower(import_onnx(kCase + "model.onnx", {}));
  const BuildTarget target = build_target("rtx4090");
  const BestHistory defaults(nullptr, target, EvidencePolicy::prefer);
  Plan plan = make_plan(program, target, [&](const Task& task) { return defaults.choose(task); });
  BuilderOptions options;
  options.worker_program = WARPWRIGHT_PROGRAM;
  compile(plan, options);
  const Package package = make_package(program, plan);
  write_package(path, std::span(&package, 1), manifest_of(plan, "digest"));
}

TEST(CInterface, RunsAPackage) {
  const TemporaryFolder folder("warpwright-c-interface");
  const std::string path = (folder.path() / "a.pkg").string();
  build_package(path);
  warpwright_package* package = nullptr;
  ASSERT_EQ(warpwright_open(path.c_str(), "virtual:rtx4090", &package), 0) << warpwright_error_text();
  ASSERT_EQ(warpwright_input_count(package), 1u);
  ASSERT_EQ(warpwright_output_count(package), 1u);
  warpwright_port input{}, output{};
  ASSERT_EQ(warpwright_input(package, 0, &input), 0);
  ASSERT_EQ(warpwright_output(package, 0, &output), 0);
  EXPECT_STREQ(input.name, "x");
  EXPECT_STREQ(output.name, "y");
  const Tensor x = read_npy(kCase + "input_0_x.npy"), y = read_npy(kCase + "expected_0_y.npy");
  ASSERT_EQ(input.bytes, x.bytes.size());
  ASSERT_EQ(output.bytes, y.bytes.size());
  EXPECT_EQ(Shape(output.shape, output.shape + output.rank), y.shape);
  warpwright_session* session = nullptr;
  ASSERT_EQ(warpwright_session_open(package, &session), 0) << warpwright_error_text();
  std::vector<std::byte> result(output.bytes);
  const void* inputs[] = {x.bytes.data()};
  void* outputs[] = {result.data()};
  for (int again = 0; again < 2; ++again) {
    std::fill(result.begin(), result.end(), std::byte{0});
    ASSERT_EQ(warpwright_run(session, inputs, outputs), 0) << warpwright_error_text();
    EXPECT_EQ(result, y.bytes);
  }
  const void* nothing[] = {nullptr};
  EXPECT_EQ(warpwright_run(session, nothing, outputs), 2);
  EXPECT_NE(std::strlen(warpwright_error_text()), 0u);
  warpwright_session_close(session);
  EXPECT_EQ(warpwright_input(package, 1, &input), 2);
  warpwright_close(package);
}

TEST(CInterface, FailuresAreStatusAndText) {
  warpwright_package* package = nullptr;
  EXPECT_EQ(warpwright_open("/absent.pkg", "virtual:rtx4090", &package), 2);
  EXPECT_NE(std::string(warpwright_error_text()).find("/absent.pkg"), std::string::npos);
  EXPECT_EQ(warpwright_open(nullptr, "virtual:rtx4090", &package), 2);
  EXPECT_EQ(warpwright_session_open(nullptr, nullptr), 2);
  EXPECT_EQ(warpwright_input_count(nullptr), 0u);
  warpwright_close(nullptr);
  warpwright_session_close(nullptr);
}

}  // namespace
}  // namespace warpwright
