// All recorded cases: right bits or a refusal that names the culprit; never anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

TEST(Cases, AllHoldOrAreRefusedByName) {
  const auto folder = test_data_folder() / "cases";
  std::ifstream file(folder / "index.json");
  const Json index = Json::parse(file);
  size_t held = 0;
  std::set<std::string> refused;  // that must run
  for (const Json& item : index.at("cases")) {
    const auto name = item.at("name").get<std::string>();
    const auto expect = item.at("expect").get<std::string>();
    const CaseOutcome outcome = run_case(folder, item);
    EXPECT_NE(outcome.result, CaseResult::wrong) << name << ": " << outcome.message;
    if (outcome.result == CaseResult::held) ++held;
    if (expect == "exact" && outcome.result == CaseResult::refused) refused.insert(name);
    if (expect != "refuse") continue;
    EXPECT_EQ(outcome.result, CaseResult::refused) << name;
    if (!item.contains("must_name")) continue;
    for (const Json& group : item.at("must_name")) {
      bool named = false;
      for (const Json& text : group) named |= outcome.message.find(text.get<std::string>()) != std::string::npos;
      EXPECT_TRUE(named) << name << " must name one of " << group << ", says: " << outcome.message;
    }
  }
  EXPECT_THAT(refused, testing::IsEmpty());
  EXPECT_EQ(held, 192u);
}

}  // namespace
}  // namespace warpwright
