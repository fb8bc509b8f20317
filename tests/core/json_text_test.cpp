// JSON that is nested too deeply, strings that are no UTF-8, names that would steer a terminal.
#include "src/core/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "src/core/error.h"
#include "src/core/printable.h"

namespace warpwright {
namespace {

std::string nested(size_t depth) {
  std::string text(depth, '[');
  return text.append(depth, ']');
}

TEST(JsonText, DepthIsLimited) {
  EXPECT_NO_THROW(parse_json(nested(kMostJsonDepth)));
  EXPECT_THROW(parse_json(nested(kMostJsonDepth + 1)), UsageError);
  EXPECT_THROW(parse_json(nested(1'000'000)), UsageError);
  EXPECT_FALSE(try_parse_json(nested(kMostJsonDepth)).is_discarded());
  EXPECT_TRUE(try_parse_json(nested(1'000'000)).is_discarded());
  EXPECT_TRUE(try_parse_json("[1").is_discarded());
  EXPECT_THROW(parse_json("[1"), Json::parse_error);
}

TEST(JsonText, BracketsInStringsAreNoDepth) {
  std::string text = R"(["\")";
  text.append(1000, '[').append(R"("])");
  EXPECT_EQ(parse_json(text)[0].get<std::string>().size(), 1001u);
}

TEST(JsonText, DocumentReplacesWhatIsNoUtf8) { EXPECT_EQ(json_document(Json("a\xff")), "\"a\xEF\xBF\xBD\""); }

TEST(Printable, ControlCharactersAreReplaced) {
  EXPECT_EQ(printable("a\x1b[31mb\x7f"), "a?[31mb?");
  EXPECT_EQ(printable("one\ntwo\tthree\r"), "one\ntwo\tthree?");
  EXPECT_EQ(printable("caf\xC3\xA9"), "caf\xC3\xA9");
}

}  // namespace
}  // namespace warpwright
