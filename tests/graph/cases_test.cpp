// All recorded cases: right bits or a refusal that names the culprit; never anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/graph/case_runner.h"

namespace warpwright {
namespace {

TEST(Cases, AllHoldOrAreRefusedByName) {
  const auto shared = shared_folder();
  if (!shared || !std::filesystem::exists(*shared / "cases/index.json")) GTEST_SKIP() << "no folder of recorded cases";
  std::ifstream file(*shared / "cases/index.json");
  const Json index = Json::parse(file);
  size_t held = 0, refused = 0;
  std::string beyond;
  for (const Json& item : index.at("cases")) {
    const auto name = item.at("name").get<std::string>();
    const auto expect = item.at("expect").get<std::string>();
    const CaseOutcome outcome = run_case(*shared / "cases", item);
    EXPECT_NE(outcome.result, CaseResult::wrong) << name << ": " << outcome.message;
    if (outcome.result == CaseResult::held) ++held;
    if (outcome.result == CaseResult::refused) ++refused;
    if (expect == "exact" && outcome.result == CaseResult::refused) beyond += name + ": " + outcome.message + "\n";
    if (expect != "refuse") continue;
    EXPECT_EQ(outcome.result, CaseResult::refused) << name;
    if (!item.contains("must_name")) continue;
    for (const Json& group : item.at("must_name")) {
      bool named = false;
      for (const Json& text : group) named |= outcome.message.find(text.get<std::string>()) != std::string::npos;
      EXPECT_TRUE(named) << name << " must name one of " << group << ", says: " << outcome.message;
    }
  }
  std::cout << held << " held, " << refused << " refused\n" << beyond;
}

}  // namespace
}  // namespace warpwright
