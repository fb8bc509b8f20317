// Builds whose chosen Config the compiler of today does not take: a default in its place, and gates that notice.
#include <fmt/format.h>

#include "search_space/kernel_family.h"
#include "src/core/hash.h"
#include "tests/cli/program_fixture.h"

namespace warpwright {
namespace {

class RefusedSource : public ProgramTest {
 protected:
  RefusedSource() {
    const Config chosen = some_configs(tasks_[0], target_preset("rtx4090"), 2).at(1);
    const auto emitted = family_of(chosen).emit(tasks_[0].workload, chosen, target_preset("rtx4090"));
    environment_ = {{"WARPWRIGHT_TEST_REFUSED_SOURCE", sha256_hex(emitted.source)}};
  }

  ProgramResult build_refused(std::vector<std::string> more) const {
    more.insert(more.end(), {"--nvrtc", WARPWRIGHT_REFUSING_NVRTC, "--db", database_, "-o", path("p.pkg")});
    return run_program(build(more), environment_);
  }

  std::map<std::string, std::string> environment_;
  const std::string database_ = write_database("all.db", 0, tasks_.size());
};

TEST_F(RefusedSource, TheDefaultTakesItsPlaceAndTheRungSaysWhy) {
  const ProgramResult result = build_refused({"--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json document = parse_json(result.out);
  EXPECT_EQ(document["rungs"]["default"]["kernels"], 1) << result.out;
  EXPECT_EQ(document["rungs"]["exact"]["kernels"], tasks_.size() - 1);
  EXPECT_NE(result.out.find("this source is refused for a test"), std::string::npos) << result.out;
}

TEST_F(RefusedSource, AGateThatHeldBeforeCompilingIsShutAfterIt) {
  run(build({"--db", database_, "--dry-run", "--require-hit", "exact"}));
  const ProgramResult result = build_refused({"--require-hit", "exact"});
  EXPECT_EQ(result.status, 1) << result.err;
  const std::string refusal = fmt::format("1 of {} kernels miss --require-hit exact", tasks_.size());
  EXPECT_NE(result.err.find(refusal), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("this source is refused for a test"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("p.pkg")));
}

}  // namespace
}  // namespace warpwright
