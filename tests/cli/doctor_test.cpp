// `doctor`, and the same checks at the head of `tune`.
#include <gmock/gmock.h>

#include <unistd.h>

#include "src/device/cuda/driver.h"
#include "tests/cli/virtual_card.h"

namespace warpwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Doctor : public VirtualCard {
 protected:
  /// State, finding and advice of each check.
  std::map<std::string, Json> checks(std::vector<std::string> arguments, const std::string& fault = "",
                                     int status = 0) {
    arguments.insert(arguments.begin(), "doctor");
    const Json document = json(arguments, fault, status);
    EXPECT_EQ(document.at("schema"), "warpwright.doctor/1");
    EXPECT_EQ(document.at("failed"), status == 3);
    std::map<std::string, Json> found;
    for (const Json& check : document.at("checks")) found[check.at("check").get<std::string>()] = check;
    return found;
  }
};

TEST_F(Doctor, AVirtualDeviceIsWell) {
  const std::map<std::string, Json> found = checks({model_, "--device", "virtual:rtx4090", "--db", path("d.db")});
  for (const char* check :
       {"driver", "compiler", "kernel", "memory", "clocks", "other processes", "disk", "database"}) {
    ASSERT_TRUE(found.contains(check)) << check;
    EXPECT_EQ(found.at(check).at("state"), "ok") << found.at(check).dump();
  }
  EXPECT_THAT(found.at("kernel").at("finding").get<std::string>(), HasSubstr("16384 results right"));
  EXPECT_THAT(found.at("compiler").at("finding").get<std::string>(), HasSubstr("sm_89"));
  EXPECT_FALSE(std::filesystem::exists(path("d.db")));
}

TEST_F(Doctor, ACardTellsItsPowerClocksAndWhoElseIsThere) {
  const std::map<std::string, Json> found = checks({"--device", "cuda:0"});
  EXPECT_EQ(found.at("clocks").at("state"), "ok");
  EXPECT_THAT(found.at("clocks").at("finding").get<std::string>(),
              HasSubstr("power limit 300/450 W, clocks not locked, now 2235 of 3105 MHz, P2, 51 degrees"));
  EXPECT_THAT(found.at("clocks").at("advice").get<std::string>(), HasSubstr("`nvidia-smi -i 0 -lgc 2484`"));
  EXPECT_THAT(found.at("memory").at("finding").get<std::string>(), HasSubstr("24000.0 MB of 25757.2 MB are free"));
  const std::string own = std::to_string(getpid());
  const ProgramResult shared =
      run({"doctor", "--device", "cuda:0"}, "", {{"VIRTUAL_NVML_PROCESS", own}, {"VIRTUAL_NVML_REASONS", "22"}});
  EXPECT_EQ(shared.status, 0) << "a warning is no failure";
  EXPECT_THAT(shared.out, AllOf(HasSubstr(own + " cli_tests, 512.0 MB"), HasSubstr("throttled by thermal"),
                                HasSubstr("clocks locked"), Not(HasSubstr("not locked"))));
}

TEST_F(Doctor, EachFailureSaysWhatToDoAndSkipsWhatHangsOnIt) {
  std::map<std::string, Json> found = checks({"--device", "cuda:0"}, "busy@0", 3);
  EXPECT_EQ(found.at("driver").at("state"), "failed");
  EXPECT_THAT(found.at("driver").at("finding").get<std::string>(), HasSubstr("has it for itself"));
  EXPECT_EQ(found.at("compiler").at("state"), "ok");
  EXPECT_EQ(found.at("kernel").at("state"), "skipped");
  found = checks({"--device", "cuda:0"}, "old_driver", 3);
  EXPECT_THAT(found.at("kernel").at("finding").get<std::string>(), HasSubstr("Install a newer driver"));
  found = checks({"--device", "cuda:0"}, "illegal_address@1", 3);
  EXPECT_THAT(found.at("kernel").at("finding").get<std::string>(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_NE(found.at("kernel").at("advice"), "");
  found = checks({"--device", "virtual:rtx4090", "--nvrtc", "/nowhere/libnvrtc.so"}, "", 3);
  EXPECT_THAT(found.at("compiler").at("finding").get<std::string>(), HasSubstr("/nowhere/libnvrtc.so"));
  found = checks({"--device", "virtual:rtx4090", "--db", "/nowhere/d.db"}, "", 3);
  EXPECT_EQ(found.at("database").at("state"), "failed");
  EXPECT_EQ(found.at("disk").at("state"), "failed");
  write_file(path("no.db"), "this is no database");
  found = checks({"--device", "virtual:rtx4090", "--db", path("no.db")}, "", 3);
  EXPECT_EQ(found.at("database").at("state"), "failed");
  EXPECT_EQ(read_file(path("no.db")), "this is no database");
}

TEST_F(Doctor, MemoryForTheLargestTaskIsTriedOut) {
  const ProgramResult result = run({"doctor", model_, "--device", "cuda:0"}, "", {{"VIRTUAL_CUDA_MEMORY_MB", "4"}});
  EXPECT_EQ(result.status, 3) << "the L2 of 4 MB is flushed by a buffer of twice its size";
  EXPECT_THAT(result.out, AllOf(HasSubstr("the largest task needs"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"),
                                HasSubstr("end other processes")));
}

TEST_F(Doctor, TuneLooksBeforeItBegins) {
  const std::vector<std::string> tune = {"tune", model_, "--db", path("d.db"), "--device", "cuda:0", "--trials", "1"};
  const ProgramResult full = run(tune, "", {{"VIRTUAL_CUDA_MEMORY_MB", "4"}});
  EXPECT_EQ(full.status, 3);
  EXPECT_THAT(full.err, HasSubstr("memory: failed"));
  EXPECT_FALSE(std::filesystem::exists(path("d.db")));
  const ProgramResult well = run(tune);
  EXPECT_EQ(well.status, 0) << well.err;
  EXPECT_THAT(well.err, AllOf(HasSubstr("kernel: ok"), HasSubstr("power limit 300/450 W, clocks not locked")));
}

TEST_F(Doctor, AMissingDriverIsToldWithItsCure) {
  if (has_cuda_driver()) GTEST_SKIP() << "this machine has a driver";
  const ProgramResult result = run_program({"doctor", "--device", "cuda:0"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("no CUDA driver"), HasSubstr("580"), HasSubstr("--device virtual:rtx4090")));
}

}  // namespace
}  // namespace warpwright
