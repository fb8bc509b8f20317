// Packages and lock files: written, read back, and refused when damaged. Kernels are made up: nothing here runs.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "search_space/kernel_family.h"
#include "src/compile/lock_file.h"
#include "src/compile/package_writer.h"
#include "src/core/error.h"
#include "src/core/file.h"
#include "src/core/hash.h"
#include "src/graph/lowering.h"
#include "src/import/import.h"
#include "src/runtime/package_format.h"

namespace warpwright {
namespace {

Program small_program(int64_t batch = 2) {
  const std::string model = std::string(WARPWRIGHT_SOURCE_DIR) + "/tests/data/models/digits_qat/model.onnx";
  return lower(import_onnx(model, {{"image", {batch, 1, 8, 8}}}));
}

/// Defaults whose code is made up from the source.
Plan made_up_plan(const Program& program) {
  const BuildTarget target = build_target("rtx4090");
  const BestHistory defaults(nullptr, target, EvidencePolicy::prefer);
  Plan plan = make_plan(program, target, [&](const Task& task) { return defaults.choose(task); });
  for (PlannedKernel& kernel : plan.kernels) {
    kernel.code.entry = kernel.source.entry;
    kernel.code.arch = "sm_89";
    kernel.code.ptx = "// ptx of " + kernel.task.key;
    kernel.code.cubin = "cubin of " + kernel.task.key;
    kernel.code.compiler = "none";
    kernel.hashes.ptx = sha256_hex(kernel.code.ptx);
    kernel.hashes.cubin = sha256_hex(kernel.code.cubin);
  }
  return plan;
}

void execute(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
  sqlite3_close(handle);
}

class PackageFiles : public testing::Test {
 protected:
  PackageFiles() : program_(small_program()), plan_(made_up_plan(program_)), package_(make_package(program_, plan_)) {}

  std::filesystem::path write(const std::string& name) {
    const auto path = folder_.path() / name;
    write_package(path, std::span(&package_, 1), manifest_of(plan_, "digest"));
    return path;
  }
  /// What is wrong with the file, as the reader says it; empty when it takes it.
  static std::string refusal(const std::filesystem::path& path) {
    try {
      const PackageFile file(path);
      for (const auto& variant : file.variants()) file.load(variant);
      return {};
    } catch (const UsageError& error) {
      return error.what();
    }
  }
  /// Damage that the digest does not see: what the reader checks must not hang on it.
  void damage_and_sign(const std::filesystem::path& path, const std::string& sql) {
    execute(path, sql);
    SqliteFile file(path, SqliteFile::Mode::create);
    const std::string digest = package_digest(file);
    file.execute("UPDATE digest SET sha256 = '" + digest + "'");
  }

  TemporaryFolder folder_{"warpwright-package"};
  Program program_;
  Plan plan_;
  Package package_;
};

TEST_F(PackageFiles, ComeBackAsWritten) {
  const auto path = write("a.pkg");
  EXPECT_TRUE(is_package(path));
  const PackageFile file(path);
  ASSERT_EQ(file.variants().size(), 1u);
  EXPECT_EQ(file.variants()[0].input_shapes.at("image"), (Shape{2, 1, 8, 8}));
  const Package read = file.load(file.variants()[0]);
  EXPECT_EQ(read.target, package_.target);
  ASSERT_EQ(read.steps.size(), package_.steps.size());
  for (size_t i = 0; i < read.steps.size(); ++i) {
    EXPECT_EQ(read.steps[i].packed, package_.steps[i].packed);
    EXPECT_EQ(read.steps[i].config, package_.steps[i].config);
    EXPECT_EQ(read.kernels[read.steps[i].kernel].code.cubin, package_.kernels[package_.steps[i].kernel].code.cubin);
    EXPECT_EQ(read.program.steps[i].workload, program_.steps[i].workload);
    EXPECT_EQ(read.program.steps[i].values, program_.steps[i].values);
    EXPECT_EQ(read.program.steps[i].onnx_nodes, program_.steps[i].onnx_nodes);
  }
  EXPECT_EQ(read.program.arena_bytes, program_.arena_bytes);
}

TEST_F(PackageFiles, EqualContentGivesEqualBytes) { EXPECT_EQ(read_file(write("a.pkg")), read_file(write("b.pkg"))); }

TEST_F(PackageFiles, HoldSeveralProfilesAndStoreWeightsOnce) {
  const auto one = write("one.pkg");
  const Program larger = small_program(4);
  const std::vector<Package> both{package_, make_package(larger, made_up_plan(larger))};
  const auto two = folder_.path() / "two.pkg";
  write_package(two, both, manifest_of(plan_, "digest"));
  const PackageFile file(two);
  ASSERT_EQ(file.variants().size(), 2u);
  EXPECT_EQ(file.load(file.variants()[1]).program.inputs[0].shape, (Shape{4, 1, 8, 8}));
  SqliteFile sqlite(two, SqliteFile::Mode::read);
  EXPECT_EQ(sqlite.integer("SELECT count(*) FROM blobs"), sqlite.integer("SELECT count(DISTINCT hash) FROM blobs"));
}

TEST_F(PackageFiles, NothingIsLeftWhenTheyCannotBeWritten) {
  EXPECT_THROW(write_package(folder_.path() / "absent/a.pkg", std::span(&package_, 1), Json::object()),
               EnvironmentError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(PackageFiles, DamageIsSeen) {
  const std::vector<std::string> damages{
      "DELETE FROM manifest",
      "UPDATE plan_steps SET config = '{}'",
      "UPDATE tensors SET arena_offset = 0",
      "INSERT INTO blobs VALUES ('00', x'00')",
      "CREATE TABLE more (x INTEGER)",
      "CREATE VIEW v AS SELECT 1",
      "CREATE TRIGGER t AFTER INSERT ON blobs BEGIN SELECT 1; END",
      "PRAGMA user_version = 2",
      "PRAGMA application_id = 1",
  };
  for (const std::string& damage : damages) {
    const auto path = write("damaged.pkg");
    execute(path, damage);
    EXPECT_NE(refusal(path), "") << damage;
  }
}

TEST_F(PackageFiles, MaliciousContentIsRefused) {
  const std::vector<std::string> attacks{
      "UPDATE tensors SET arena_offset = 1099511627520 WHERE id = 1",
      "UPDATE tensors SET arena_offset = -256 WHERE id = 1",
      "UPDATE tensors SET arena_offset = 1 WHERE id = 1",
      "UPDATE tensors SET n = 4611686018427387904 WHERE id = 1",
      "UPDATE tensors SET h = 0 WHERE id = 1",
      "UPDATE tensors SET channel_offset = 9223372036854775807 WHERE layout = 'nhwc'",
      "UPDATE tensors SET pixel_stride = 1 WHERE layout = 'nhwc'",
      "UPDATE tensors SET last_step = 0",
      "UPDATE profiles SET arena_bytes = 0",
      "UPDATE profiles SET arena_bytes = 9223372036854775807",
      "UPDATE ports SET tensor = 1000",
      "UPDATE ports SET shape = '[1,1]'",
      "UPDATE ports SET shape = '[4611686018427387904,4]'",
      "UPDATE ports SET shape = 'x'",
      "UPDATE steps SET output = 1000000 WHERE id = 0",
      "UPDATE steps SET inputs = '[]' WHERE id = 1",
      "UPDATE steps SET inputs = '[-1]' WHERE id = 0",
      "UPDATE steps SET workload = '{}' WHERE id = 0",
      "UPDATE steps SET id = 77 WHERE id = 3",
      "UPDATE step_values SET shape = '[1]' WHERE name = 'weights'",
      "DELETE FROM step_values WHERE name = 'weights'",
      "UPDATE blobs SET bytes = x'' WHERE rowid = 1",
      "UPDATE blobs SET bytes = zeroblob(length(bytes))",
      "UPDATE kernels SET launch = '{\"grid\":[0,1,1],\"block\":[1,1,1],\"dynamic_smem_bytes\":0}'",
      "UPDATE kernels SET launch = '{\"grid\":[1,1,1],\"block\":[1024,1024,1],\"dynamic_smem_bytes\":0}'",
      "UPDATE kernels SET arch = 'sm_80'",
      "UPDATE kernels SET arguments = '[{\"role\":\"input\",\"index\":7,\"name\":\"\",\"dtype\":\"s8\"}]'",
      "UPDATE kernels SET registers = -1",
      "UPDATE plan_steps SET kernel = 1000 WHERE step = 0",
      "UPDATE plan_steps SET config = '[]'",
      "UPDATE plan_steps SET evidence = 'hearsay'",
      "DELETE FROM plan_steps WHERE step = 1",
      "DELETE FROM packings",
      "UPDATE packings SET argument = argument + 1000",
      "UPDATE packings SET dtype = 'f64'",
      "DELETE FROM plans",
      "UPDATE targets SET json = '{}'",
      "UPDATE manifest SET json = '{'",
      "DELETE FROM ports WHERE direction = 'output'",
  };
  for (const std::string& attack : attacks) {
    const auto path = write("attacked.pkg");
    damage_and_sign(path, attack);
    EXPECT_NE(refusal(path), "") << attack;
  }
}

TEST_F(PackageFiles, EveryTruncationIsRefused) {
  const std::string bytes = read_file(write("whole.pkg"));
  const auto path = folder_.path() / "cut.pkg";
  for (size_t part = 0; part < 16; ++part) {
    write_file(path, bytes.substr(0, bytes.size() * part / 16));
    EXPECT_NE(refusal(path), "") << part;
  }
}

TEST_F(PackageFiles, LockComesBackAndDecides) {
  const LockFile lock = lock_of(plan_);
  const auto path = folder_.path() / "a.lock";
  lock.write(path);
  const LockFile read = LockFile::read(path);
  EXPECT_EQ(read.entries().size(), plan_.kernels.size());
  EXPECT_EQ(read.target_text(), "rtx4090");
  read.write(folder_.path() / "b.lock");
  EXPECT_EQ(read_file(path), read_file(folder_.path() / "b.lock"));
  const auto otherwise = [](const Task&) -> Choice { throw InternalError("the lock has all"); };
  const Plan again = make_plan(program_, plan_.target, lock_chooser(read, plan_.target, otherwise));
  for (size_t i = 0; i < again.kernels.size(); ++i) {
    EXPECT_EQ(again.kernels[i].choice.config, plan_.kernels[i].choice.config);
  }
  const BestHistory defaults(nullptr, build_target("rtx3090"), EvidencePolicy::prefer);
  const Choice other = lock_chooser(read, build_target("rtx3090"),
                                    [&](const Task& task) { return defaults.choose(task); })(plan_.kernels[0].task);
  EXPECT_NE(other.why.find("for target rtx4090"), std::string::npos);
}

TEST_F(PackageFiles, LockThatIsDamagedNamesItsLine) {
  const auto path = folder_.path() / "a.lock";
  lock_of(plan_).write(path);
  const std::string text = read_file(path);
  const size_t second = text.find('\n') + 1;
  for (const std::string& bad : {text.substr(0, second) + "{\n", text.substr(0, second) + "{}\n",
                                 text.substr(0, second) + text.substr(0, second)}) {
    write_file(path, bad);
    try {
      LockFile::read(path);
      FAIL() << bad.substr(second, 40);
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("a.lock: line 2"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace warpwright
