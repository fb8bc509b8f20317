// Fault test T09: the disk that holds the database fills while a run goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fstream>
#include <thread>

#include "src/core/file.h"
#include "src/core/json.h"
#include "tests/cli/program.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// 4 MB of disk; not mounted without the right to.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    is_mounted_ = mount("none", path_.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) umount(path_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  void fill() const {
    std::ofstream file(path_ / "ballast", std::ios::binary | std::ios::app);
    const std::string page(4096, 'x');
    while (file.write(page.data(), 4096).flush()) continue;
  }
  void free() const { std::filesystem::remove(path_ / "ballast"); }

 private:
  const std::filesystem::path path_;
  bool is_mounted_ = false;
};

TEST(FaultT09, ADiskThatFillsEndsTheRunAndItGoesOnWithSpace) {
  const TemporaryFolder folder("warpwright-full-disk");
  const SmallDisk disk(folder.path() / "disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "needs the right to mount a small tmpfs";
  const std::string db = (folder.path() / "disk/d.db").string();
  const auto records = [&] {
    const ProgramResult stats = run_program({"db", "stats", db, "--json"});
    return stats.status == 0 ? Json::parse(stats.out).at("records").get<int64_t>() : 0;
  };
  constexpr int kTrials = 40;
  const std::vector<std::string> tune = {
      "tune",     (test_data() / "cases/block_residual_unrounded_s8/model.onnx").string(),
      "--db",     db,
      "--device", "virtual:rtx4090",
      "--trials", std::to_string(kTrials),
      "--jobs",   "1",
      "--json"};
  std::jthread filler([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && records() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    disk.fill();
  });
  const ProgramResult full = run_program(tune);
  filler.request_stop();
  filler.join();
  EXPECT_EQ(full.status, 3) << full.err << full.out;
  EXPECT_THAT(full.err, AllOf(HasSubstr(db), HasSubstr("full")));
  // Started again on the full disk it does not even begin.
  const ProgramResult again = run_program(tune);
  EXPECT_EQ(again.status, 3);
  EXPECT_THAT(again.err, AnyOf(HasSubstr("MB free"), HasSubstr("full")));
  disk.free();
  const int64_t before = records();
  EXPECT_GE(before, 2);
  EXPECT_LT(before, kTrials);
  EXPECT_EQ(run_program({"db", "check", db}).status, 0);
  const ProgramResult rest = run_program(tune);
  ASSERT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(Json::parse(rest.out).at("trials"), kTrials);
  EXPECT_EQ(Json::parse(rest.out).at("measured"), kTrials - before);
  EXPECT_EQ(records(), kTrials);
}

}  // namespace
}  // namespace warpwright
