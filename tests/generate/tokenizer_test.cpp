// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers, byte-pair merges, special tokens and streaming, on a vocabulary small enough to check by
// hand.
#include "generate/tokenizer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "generate/pretokenizer.hpp"

namespace {

using generate::split_pattern;
using generate::split_words;
using generate::StreamDecoder;
using generate::Tokenizer;
using generate::TokenizerData;
using Ids = std::vector<int>;
using Words = std::vector<std::string_view>;

struct Split {
  const char* pattern;
  std::string_view text;
  Words words;
};

TEST(Pretokenizer, SplitsByPattern) {
  const std::vector<Split> cases = {
      {"gpt-2", "Hello  world, it's", {"Hello", " ", " world", ",", " it", "'s"}},
      {"gpt-2", "we'LL x'll", {"we", "'", "LL", " x", "'ll"}},
      {"gpt-2", "a 123 4b", {"a", " 123", " 4", "b"}},
      {"gpt-2", "x\n\n  y \n", {"x", "\n\n ", " y", " \n"}},
      {"default", "naïve 世界!? ½", {"naïve", " 世界", "!?", " ½"}},
      {"smollm", "a 12  3b's", {"a", " ", "1", "2", "  ", "3", "b", "'s"}},
      {"smollm", "x  .Ⅷ", {"x", " ", " .", "Ⅷ"}},
      {"llama-bpe", "We'LL (go) 12345\n", {"We", "'LL", " (", "go", ")", " ", "123", "45", "\n"}},
      {"llama-bpe", "x;\r\n \n  y", {"x", ";\r\n", " \n", " ", " y"}},
      {"llama-bpe", "\tif  $a\u00A0b", {"\tif", " ", " $", "a", "\u00A0b"}},
      {"qwen2", "a12 é\u0301", {"a", "1", "2", " é", "\u0301"}},
      {"qwen2", "  \n\n  ", {"  \n\n", "  "}},
      // Bytes that are not UTF-8 are characters of their own: neither letters nor white space.
      {"gpt-2", "a\xFF\xC3 \xE2\x82z", {"a", "\xFF\xC3", " \xE2\x82", "z"}},
      {"gpt-2", "", {}},
  };
  for (const Split& split : cases) {
    EXPECT_EQ(split_words(split.text, split_pattern(split.pattern)), split.words) << split.text;
  }
}

// The spelling of a byte, by the definition that GPT-2 published.
std::string spelled(int byte) {
  int character = byte;
  if (byte <= 0x20) character = 0x100 + byte;
  if (byte >= 0x7F && byte <= 0xA0) character = 0x100 + 33 + (byte - 0x7F);
  if (byte == 0xAD) character = 0x100 + 33 + 34;
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xC0 + character / 64), static_cast<char>(0x80 + character % 64)};
}

// Ids 0 to 255 are the bytes; the others are named beside their token.
TokenizerData small_vocabulary() {
  TokenizerData data;
  for (int byte = 0; byte < 256; ++byte) data.tokens.push_back(spelled(byte));
  data.tokens.insert(data.tokens.end(), {
                                            "he",           // 256
                                            "ll",           // 257
                                            "hell",         // 258
                                            "hello",        // 259
                                            "\u0120hello",  // 260, the space is spelled U+0120
                                            "lo",           // 261
                                            "aa",           // 262
                                            "aaaa",         // 263
                                            "xyz",          // 264, not reached by merges
                                            "<|a|>",        // 265
                                            "<|a|><|b|>",   // 266
                                            "<think>",      // 267
                                            "<unk>",        // 268
                                        });
  data.token_types.assign(data.tokens.size(), 1);
  data.token_types[265] = data.token_types[266] = 3;
  data.token_types[267] = 4;
  data.token_types[268] = 2;
  data.merges = {"l l", "h e", "he ll", "hell o", "\u0120 hello", "l o", "a a", "aa aa"};
  data.pre = "gpt-2";
  return data;
}

std::string decoded(const Tokenizer& tokenizer, const Ids& ids) {
  std::string text;
  for (int id : ids) text += tokenizer.decode(id, true);
  return text;
}

TEST(Tokenizer, MergesMostUrgentFirst) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("hello hello", true), (Ids{259, 260}));
  EXPECT_EQ(tokenizer.encode("lo llo", true), (Ids{261, ' ', 257, 'o'}));  // "l l" before "l o"
  EXPECT_EQ(tokenizer.encode("helo", true), (Ids{256, 261}));
  EXPECT_EQ(tokenizer.encode("hell o", true), (Ids{258, ' ', 'o'}));
  EXPECT_EQ(tokenizer.encode("aaa", true), (Ids{262, 'a'}));  // of equals the leftmost
  EXPECT_EQ(tokenizer.encode("aaaaaaa", true), (Ids{263, 262, 'a'}));
  EXPECT_EQ(tokenizer.encode("\xC3\xA9\n", true), (Ids{0xC3, 0xA9, '\n'}));
  EXPECT_EQ(tokenizer.encode("", true), Ids{});
}

// With quadratic merging this would take hours.
TEST(Tokenizer, MergesLongWords) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode(std::string(400'000, 'a'), true), Ids(100'000, 263));
}

TEST(Tokenizer, TakesWholeWordsOnlyForLlama3) {
  TokenizerData data = small_vocabulary();
  EXPECT_EQ(Tokenizer(data).encode("xyz", true), (Ids{'x', 'y', 'z'}));
  data.pre = "llama-bpe";
  EXPECT_EQ(Tokenizer(data).encode("xyz", true), Ids{264});
}

TEST(Tokenizer, RecognizesSpecialTokens) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("<|a|>x<|a|><|b|><|a|><", true), (Ids{265, 'x', 266, 265, '<'}));
  EXPECT_EQ(tokenizer.encode("<|a|>", false), (Ids{'<', '|', 'a', '|', '>'}));
  EXPECT_EQ(tokenizer.encode("a<think>", true), (Ids{'a', 267}));
  EXPECT_EQ(tokenizer.encode("a<think>", false), (Ids{'a', 267}));
  EXPECT_EQ(tokenizer.find("<|a|>"), 265);
  EXPECT_EQ(tokenizer.find("nothing"), std::nullopt);
}

TEST(Tokenizer, AddsWhatTheFileAsksFor) {
  TokenizerData data = small_vocabulary();
  data.bos = 265;
  EXPECT_EQ(Tokenizer(data).encode_prompt("aa", true), Ids{262});
  data.add_bos = true;
  EXPECT_EQ(Tokenizer(data).encode_prompt("aa", true), (Ids{265, 262}));
  EXPECT_EQ(Tokenizer(data).encode_prompt("<|a|>aa", true), (Ids{265, 262}));
  EXPECT_EQ(Tokenizer(data).encode_prompt("", true), Ids{265});
  EXPECT_EQ(Tokenizer(data).encode("aa", true), Ids{262});
  data.add_space_prefix = true;
  EXPECT_EQ(Tokenizer(data).encode("hello<|a|> hello", true), (Ids{260, 265, 260}));
}

TEST(Tokenizer, DecodesEveryByteString) {
  const Tokenizer tokenizer(small_vocabulary());
  std::mt19937 random(1);
  for (const char* pattern : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
    TokenizerData data = small_vocabulary();
    data.pre = pattern;
    const Tokenizer with_pattern(data);
    for (int i = 0; i < 500; ++i) {
      // Half of the bytes from a few that form, and break, UTF-8, words and special tokens.
      static constexpr std::string_view frequent = "hello a1 \n'\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xED<|>";
      std::string text;
      for (std::size_t size = random() % 40; size > 0; --size) {
        text += random() % 2 ? frequent[random() % frequent.size()] : static_cast<char>(random());
      }
      EXPECT_EQ(decoded(with_pattern, with_pattern.encode(text, true)), text) << pattern;
    }
  }
  EXPECT_EQ(tokenizer.decode(260), " hello");
  EXPECT_EQ(tokenizer.decode(265), "");
  EXPECT_EQ(tokenizer.decode(265, true), "<|a|>");
  EXPECT_EQ(tokenizer.decode(267), "<think>");
  EXPECT_EQ(tokenizer.decode(268), "");
}

TEST(StreamDecoder, HoldsBackHalfCharacters) {
  const Tokenizer tokenizer(small_vocabulary());
  StreamDecoder stream(tokenizer);
  const auto push = [&](int byte) { return stream.push(byte); };
  EXPECT_EQ(push(259), "hello");
  EXPECT_EQ(push(0xF0), "");  // U+1F600 in four tokens
  EXPECT_EQ(push(0x9F), "");
  EXPECT_EQ(push(265), "");  // a control token in between shows nothing
  EXPECT_EQ(push(0x98), "");
  EXPECT_EQ(push(0x80), "\xF0\x9F\x98\x80");
  EXPECT_EQ(push(0xE0), "");
  EXPECT_EQ(push(0x80), "\xE0\x80");  // overlong: can never become a character
  EXPECT_EQ(push(0xED), "");
  EXPECT_EQ(push(0xA0), "\xED\xA0");  // a surrogate
  EXPECT_EQ(push(0xF4), "");
  EXPECT_EQ(push(0x90), "\xF4\x90");  // beyond U+10FFFF
  EXPECT_EQ(push(0xFF), "\xFF");
  EXPECT_EQ(push(0xC3), "");
  EXPECT_EQ(push('x'), "\xC3x");
  EXPECT_EQ(push(0xE2), "");
  EXPECT_EQ(push(0x82), "");
  EXPECT_EQ(stream.finish(), "\xE2\x82");
  EXPECT_EQ(stream.finish(), "");
}

template <class Function>
std::string refusal(Function function) {
  try {
    function();
    return "not refused";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(Tokenizer, TreatsBytesWithoutToken) {
  TokenizerData data = small_vocabulary();
  data.tokens[4] = "unused";
  const std::string expected = "the text has a byte 0x04, for which the model's vocabulary has no token";
  EXPECT_EQ(refusal([&] { Tokenizer(data).encode("a\x04", true); }), expected);
  data.unk = 265;  // a control token would change what the text means
  EXPECT_EQ(refusal([&] { Tokenizer(data).encode("a\x04", true); }), expected);
  data.unk = 268;
  EXPECT_EQ(Tokenizer(data).encode("a\x04", true), (Ids{'a', 268}));
}

TEST(Tokenizer, RefusesBadFiles) {
  const auto refused = [](auto change) {
    TokenizerData data = small_vocabulary();
    change(data);
    return refusal([&] { Tokenizer tokenizer(data); });
  };
  EXPECT_EQ(refused([](TokenizerData& d) { d.pre = "deepseek-llm"; }),
            "tokenizer.ggml.pre is 'deepseek-llm': the pre-tokenizers known here are gpt-2, default, smollm, "
            "llama-bpe and qwen2");
  EXPECT_EQ(refused([](TokenizerData& d) { d.token_types.pop_back(); }),
            "tokenizer.ggml.token_type has 268 entries for 269 tokens");
  EXPECT_EQ(refused([](TokenizerData& d) { d.eos = 269; }),
            "tokenizer.ggml.eos_token_id is 269: there are 269 tokens");
  EXPECT_EQ(refused([](TokenizerData& d) { d.add_bos = true; }),
            "tokenizer.ggml.add_bos_token is true but there is no bos_token_id");
  EXPECT_EQ(refused([](TokenizerData& d) { d.tokens.clear(); }),
            "tokenizer.ggml.tokens has 0 entries: from 1 to 2^30 are possible");
  for (const char* merge : {"ll", "", " ", "l ", "q q", "h <none>"}) {
    EXPECT_EQ(refused([&](TokenizerData& d) { d.merges[2] = merge; }),
              "tokenizer.ggml.merges[2] is '" + std::string(merge) +
                  "': it must be two tokens, a space between them, that together spell a third");
  }
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(refusal([&] { tokenizer.decode(269); }), "decode: token 269 of a vocabulary of 269");
  EXPECT_EQ(refusal([&] { tokenizer.decode(-1); }), "decode: token -1 of a vocabulary of 269");
}

}
