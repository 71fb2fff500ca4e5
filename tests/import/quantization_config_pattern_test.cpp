// SPDX-License-Identifier: Apache-2.0
// Which names a pattern matches, and which expressions are refused rather than misread.
#include "edgeq/import/quantization_config_pattern.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace edgeq {
namespace {

struct Case {
  std::string expression;
  std::vector<std::string> matched;
  std::vector<std::string> others;
};

void expect_matches(const ModulePattern& pattern, const Case& example) {
  for (const auto& name : example.matched)
    EXPECT_TRUE(pattern.matches(name)) << example.expression << " " << name;
  for (const auto& name : example.others)
    EXPECT_FALSE(pattern.matches(name)) << example.expression << " " << name;
}

// The truth is Python's re.match.
TEST(QuantizationConfigPattern, Expressions) {
  const Case cases[] = {
      {"", {"", "a"}, {}},
      {"lm_head", {"lm_head", "lm_head.x", "lm_heads"}, {"model.lm_head", "lm_hea"}},
      {"lm_head$", {"lm_head"}, {"lm_heads"}},
      {".*lm_head", {"lm_head", "model.lm_head"}, {"head"}},
      {R"(.*\.18\..*gate.*)",
       {"model.layers.18.mlp.gate_proj"},
       {"model.layers.118.mlp.gate", "model.layers.18.mlp.up"}},
      {R"(.*\.(q|k|v)_proj$)",
       {"self_attn.q_proj", "a.b.v_proj"},
       {"self_attn.o_proj", "q_proj", "a.q_proj.b"}},
      {"model.layers.[0-9]+.mlp", {"model.layers.12.mlp.up", "modelXlayers.1.mlp"}, {"model.layers..mlp"}},
      {R"(layers\.\d{1,2}\.)", {"layers.1.", "layers.12.x"}, {"layers.123.", "layers.."}},
      {R"(\d{3})", {"123", "1234"}, {"12", "12a"}},
      {R"(\d{2,}$)", {"12", "12345"}, {"1", "12a"}},
      {"a{0}b", {"b"}, {"ab"}},
      {"(a|bc|)d", {"ad", "bcd", "d"}, {"bd", "cd"}},
      {"a|b|c", {"a", "b", "cx"}, {"d", ""}},
      {"(?:ab)*c", {"c", "abc", "ababc"}, {"ac", "abac"}},
      {"(ab)+c", {"abc", "abababc"}, {"c", "ab"}},
      {"(a+)+b", {"ab", "aaaab"}, {"b", "aaaa"}},
      {"(a*)*b", {"b", "aaab"}, {"aaa"}},
      {"(a?){3}b", {"b", "aaab"}, {"aaaab"}},
      {"()*a", {"a"}, {"b"}},
      {"a.*?b$", {"ab", "axb", "abb"}, {"abc"}},
      {"^a", {"a"}, {"ba"}},
      {"(^a|b)c", {"ac", "bc"}, {"cc"}},
      {"[^.]*$", {"lm_head", ""}, {"a.b"}},
      {"[]a]b", {"]b", "ab"}, {"b"}},
      {"[^]a]b", {"cb"}, {"]b", "ab"}},
      {"[a-c_-]x", {"bx", "_x", "-x"}, {"dx"}},
      {R"([\d.]+$)", {"1.2", "3"}, {"1a"}},
      {R"(\w+\s\S\D)", {"ab 1c"}, {"ab 11", "ab c"}},
      {R"(\[\\\]\_)", {"[\\]_"}, {"[\\]"}},
      {".", {"a", "\xff"}, {"", "\n"}},
  };
  for (const auto& example : cases) {
    const auto pattern = ModulePattern::regex(example.expression);
    ASSERT_TRUE(pattern.ok()) << pattern.error().message;
    expect_matches(*pattern, example);
  }
}

TEST(QuantizationConfigPattern, ExpressionsThatCannotBeExpressed) {
  for (const char* expression :
       {"^(?!.*lm_head)", "(?=a)", "(?<=a)b", "(?P<n>a)", "(?i)a", R"((a)\1)", R"(a\b)", R"(\Aa)", R"(\n)",
        "a*+", "a++", "a{", "a{x}", "a{,3}", "a{3,2}", "{2}", "a{2}{3}", "a{999999}", "((a{9}){9}){9}"}) {
    const auto pattern = ModulePattern::regex(expression);
    ASSERT_FALSE(pattern.ok()) << expression;
    EXPECT_EQ(pattern.error().code, ErrorCode::unsupported) << expression;
    EXPECT_NE(pattern.error().message.find(std::string("\"") + expression + "\""), std::string::npos);
  }
}

TEST(QuantizationConfigPattern, ExpressionsThatAreWrong) {
  for (const char* expression : {"(", "(a", "a)", "[", "[]", "[^]", "[a", "[a-", R"([\)", "*", "+a", "a|*",
                                 "(?:*)", "a**", "\\", "[z-a]", R"([\d-z])", R"(^*)"}) {
    const auto pattern = ModulePattern::regex(expression);
    ASSERT_FALSE(pattern.ok()) << expression;
    EXPECT_EQ(pattern.error().code, ErrorCode::invalid_file) << expression << " " << pattern.error().message;
  }
}

// What makes backtracking matchers take forever or overflow their stack.
TEST(QuantizationConfigPattern, HostileExpressionsAndNames) {
  const auto exponential = ModulePattern::regex("(((a|a)*)*)*$");
  ASSERT_TRUE(exponential.ok());
  EXPECT_FALSE(exponential->matches(std::string(100'000, 'a') + "b"));
  EXPECT_TRUE(exponential->matches(std::string(100'000, 'a')));
  const auto optional = ModulePattern::regex("(a?){30}a{30}" + std::string(100, 'x') + "?");
  ASSERT_TRUE(optional.ok()) << optional.error().message;
  const auto alternatives = ModulePattern::regex(std::string(100'000, '|') + "$");
  ASSERT_TRUE(alternatives.ok());
  EXPECT_TRUE(alternatives->matches("a"));
  const auto deep = ModulePattern::regex(std::string(100'000, '('));
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code, ErrorCode::unsupported);
  EXPECT_LT(deep.error().message.size(), 200u);
}

TEST(QuantizationConfigPattern, Names) {
  expect_matches(ModulePattern::exactly("a.b[*]"),
                 {"exactly", {"a.b[*]"}, {"a.b[*].c", "a.bb", "x.a.b[*]", "aXb[*]"}});
  expect_matches(ModulePattern::containing("b.c"), {"containing", {"b.c", "a.b.cd"}, {"bXc", "b"}});
  expect_matches(ModulePattern::components("mlp.gate"),
                 {"components",
                  {"mlp.gate", "l.0.mlp.gate", "mlp.gate.x", "l.mlp.gate.x"},
                  {"l.mlp.gate_proj", "xmlp.gate", "mlp"}});
  expect_matches(
      ModulePattern::components("model.layers.*.self_attn"),
      {"components", {"model.layers.7.self_attn.q_proj"}, {"model.layers.7.mlp", "model.layers.self_attn"}});
  expect_matches(ModulePattern::components("*.self_attn*"),
                 {"components", {"m.self_attn.q", "m.self_attn_x"}, {"self_attn"}});
}

}
}
