// SPDX-License-Identifier: Apache-2.0
// SentencePiece's byte-pair encoding on a vocabulary small enough to check by hand.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "generate/tokenizer.hpp"

namespace {

using generate::Tokenizer;
using generate::TokenizerData;
using generate::TokenizerKind;
using Ids = std::vector<int>;

constexpr int first_byte = 4, first_piece = first_byte + 256;

// Ids 0 to 3 are <unk>, <bos>, <eos> and the user-defined "  "; then come the 256 bytes, then pieces, the
// better ones first, of which a test names some by their place.
TokenizerData small_vocabulary() {
  TokenizerData data;
  data.kind = TokenizerKind::sentencepiece;
  data.tokens = {"<unk>", "<bos>", "<eos>", "  "};
  data.token_types = {2, 3, 3, 4};
  data.scores = {0, 0, 0, 0};
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    data.tokens.push_back({'<', '0', 'x', digits[byte / 16], digits[byte % 16], '>'});
    data.token_types.push_back(6);
    data.scores.push_back(0);
  }
  float score = 0;
  for (const char* piece :
       {"ab",     "bc", "abcd", "cd", "aa", "aaaa", "\u2581a", "\u4e16\u754c", "\u2581", "a", "b", "c", "d",
        "\u4e16", "<",  "bos",  "bo", "o",  "s",    ">",       "<bos",         "<bos>x", "xy"}) {
    data.tokens.push_back(piece);
    data.token_types.push_back(1);
    data.scores.push_back(score -= 1);
  }
  data.bos = 1;
  data.eos = 2;
  data.unk = 0;
  return data;
}

enum Piece { ab = first_piece, bc, abcd, cd, aa, aaaa, space_a, world, space, a, b, c, d };
constexpr int byte(unsigned char value) {
  return first_byte + value;
}

TEST(SentencePiece, JoinsTheBestScoreFirst) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("abc", true), (Ids{ab, c}));
  EXPECT_EQ(tokenizer.encode("dbc", true), (Ids{d, bc}));
  EXPECT_EQ(tokenizer.encode("abcd", true), Ids{abcd});    // ab and cd, which spell a token together
  EXPECT_EQ(tokenizer.encode("aaa", true), (Ids{aa, a}));  // of equals the leftmost
  EXPECT_EQ(tokenizer.encode("aaaaaaa", true), (Ids{aaaa, aa, a}));
  EXPECT_EQ(tokenizer.encode("", true), Ids{});
}

TEST(SentencePiece, SpacesAreU2581) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("a a b", true), (Ids{a, space_a, space, b}));
  EXPECT_EQ(tokenizer.encode("a\u2581a", true), (Ids{a, space_a}));
  EXPECT_EQ(tokenizer.decode(space_a), " a");
  EXPECT_EQ(tokenizer.encode("a  b", true), (Ids{a, 3, b}));  // a user-defined token of two spaces
  EXPECT_EQ(tokenizer.decode(3), "  ");
}

TEST(SentencePiece, CharactersWithoutATokenAreBytes) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("a\u00e9b", true), (Ids{a, byte(0xC3), byte(0xA9), b}));
  EXPECT_EQ(tokenizer.encode("\n\xFF", true), (Ids{byte('\n'), byte(0xFF)}));
  // A character without a token of its own is joined all the same, if the pair has one.
  EXPECT_EQ(tokenizer.encode("\u4e16\u754c", true), Ids{world});
  EXPECT_EQ(tokenizer.encode("\u754c", true), (Ids{byte(0xE7), byte(0x95), byte(0x8C)}));
  EXPECT_EQ(tokenizer.decode(byte(0xA9)), "\xA9");
}

TEST(SentencePiece, TextSpellsNoSpecialOrByteToken) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode("<bos>a", true), (Ids{1, a}));
  const Ids spelled = tokenizer.encode("<bos>", false);
  EXPECT_EQ(spelled, (Ids{*tokenizer.find("<bos"), *tokenizer.find(">")}));
  for (const int id : tokenizer.encode("<0x41><unk>", true)) {
    EXPECT_NE(id, byte(0x41));
    EXPECT_NE(id, 0);
  }
}

TEST(SentencePiece, AddsASpaceToEveryTextIfTheFileAsksForIt) {
  TokenizerData data = small_vocabulary();
  data.add_space_prefix = data.add_bos = true;
  const Tokenizer tokenizer(data);
  EXPECT_EQ(tokenizer.encode_prompt("a<eos>b", true), (Ids{1, space_a, 2, space, b}));
  EXPECT_EQ(tokenizer.encode(" a", true), (Ids{space, space_a}));
  EXPECT_EQ(tokenizer.encode_prompt("", true), Ids{1});
}

// With quadratic merging this would take hours.
TEST(SentencePiece, JoinsLongTexts) {
  const Tokenizer tokenizer(small_vocabulary());
  EXPECT_EQ(tokenizer.encode(std::string(400'000, 'a'), true), Ids(100'000, aaaa));
}

TEST(SentencePiece, DecodesEveryByteString) {
  const Tokenizer tokenizer(small_vocabulary());
  std::mt19937 random(1);
  static constexpr std::string_view frequent = "abcd  a <bos>\n\xC3\xA9\xE4\xB8\x96\xF0\x9F";
  for (int i = 0; i < 2000; ++i) {
    std::string text, decoded;
    for (std::size_t size = random() % 40; size > 0; --size)
      text += random() % 4 ? frequent[random() % frequent.size()] : static_cast<char>(random() % 0x80);
    for (const int id : tokenizer.encode(text, true)) decoded += tokenizer.decode(id, true);
    EXPECT_EQ(decoded, text);
  }
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

TEST(SentencePiece, TreatsBytesWithoutToken) {
  TokenizerData data = small_vocabulary();
  data.tokens[static_cast<std::size_t>(byte('\n'))] = "unused";
  EXPECT_EQ(Tokenizer(data).encode("a\n", true), (Ids{a, 0}));
  data.unk = 1;  // a control token would change what the text means
  EXPECT_EQ(refusal([&] { Tokenizer(data).encode("a\n", true); }),
            "the text has a byte 0x0A, for which the model's vocabulary has no token");
}

TEST(SentencePiece, NeedsAScoreForEachToken) {
  TokenizerData data = small_vocabulary();
  data.scores.pop_back();
  EXPECT_EQ(refusal([&] { Tokenizer tokenizer(data); }),
            "tokenizer.ggml.scores has 282 entries for 283 tokens");
}

}
