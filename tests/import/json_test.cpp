// SPDX-License-Identifier: Apache-2.0
// JSON texts as values, and what is refused of them.
#include "edgeq/import/json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgeq {
namespace {

using json::Document;

TEST(Json, Values) {
  auto parsed = Document::parse(
      R"( {"a": [null, true, 0, 4294967296, 18446744073709551615, -1, -9223372036854775807, 2.5, "é\n"],
                                    "": {}, "b": []} )",
      "text");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const Document document = std::move(parsed).value();
  const json::Value object = document.root();
  ASSERT_TRUE(object.is_object());
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.members()) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_FALSE(object.find("c"));
  EXPECT_TRUE(object.find("")->is_object());
  EXPECT_EQ(object.find("b")->items().begin(), object.find("b")->items().end());

  std::vector<json::Value> items;
  for (const json::Value item : object.find("a")->items()) items.push_back(item);
  ASSERT_EQ(items.size(), 9u);
  EXPECT_TRUE(items[0].is_null());
  EXPECT_EQ(items[1].as_bool(), true);
  EXPECT_EQ(items[2].as_u64(), 0u);
  EXPECT_EQ(items[3].as_i64(), std::int64_t{1} << 32);
  EXPECT_EQ(items[4].as_u64(), ~std::uint64_t{0});
  EXPECT_FALSE(items[4].as_i64());
  EXPECT_EQ(items[5].as_i64(), -1);
  EXPECT_FALSE(items[5].as_u64());
  EXPECT_EQ(items[6].as_i64(), -9223372036854775807);
  EXPECT_FALSE(items[7].as_i64());
  EXPECT_FALSE(items[7].as_u64());
  EXPECT_EQ(items[8].as_string(), "\xc3\xa9\n");
  EXPECT_FALSE(items[8].as_bool());
  EXPECT_FALSE(items[8].is_array());
  EXPECT_EQ(items[8].items().begin(), items[8].items().end());
  EXPECT_FALSE(items[8].find("a"));
}

TEST(Json, NestingUpToTheLimit) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(Document::parse(nested(json::max_depth), "text").ok());
  const auto deeper = Document::parse(nested(json::max_depth + 1), "text");
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.error().code, ErrorCode::too_large);
  EXPECT_EQ(deeper.error().message, "text: arrays and objects nest deeper than 64");
}

TEST(Json, KeysMayRepeatInOtherObjectsOnly) {
  EXPECT_TRUE(Document::parse(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})", "text").ok());
  const auto twice = Document::parse(R"({"a":1,"b":{},"\u0061":2})", "text");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::invalid_file);
  EXPECT_EQ(twice.error().message, "text: the key \"a\" stands twice in one object");
}

TEST(Json, Refusals) {
  for (const char* text : {"", " ", "{", "]", "[1,]", "{\"a\"}", "[01]", "[1] 2", "'a'", "[NaN]", "// a\n1",
                           "\"\x01\"", "\"\xc0\x80\"", "\"\\ud800\"", "nul"}) {
    const auto document = Document::parse(text, "text");
    ASSERT_FALSE(document.ok()) << text;
    EXPECT_EQ(document.error().code, ErrorCode::invalid_file);
    EXPECT_NE(document.error().message.find("text: the text is not JSON"), std::string::npos) << text;
  }
  EXPECT_FALSE(Document::parse("1e400", "text").ok());
  EXPECT_FALSE(Document::parse(std::string_view("1\0", 2), "text").ok());
}

}
}
