// SPDX-License-Identifier: Apache-2.0
// The default model's own tokenizer: ids that llama.cpp gives for the same strings. Skipped where the model
// is not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgeq/import/mapped_file.hpp"
#include "generate/model_text.hpp"

namespace {

struct Known {
  std::string text;
  std::vector<int> tokens;
};

const std::vector<Known> known_texts{
    {"Hello, world!", {19556, 28, 905, 17}},
    {"The capital of France is", {504, 3575, 282, 4649, 314}},
    {"<|im_start|>user\nWhat is 12 + 345?<|im_end|>\n<|im_start|>assistant\n",
     {1, 4093, 198, 1780, 314, 216, 33, 34, 1232, 216, 35, 36, 37, 47, 2, 198, 1, 520, 9531, 198}},
    {"  for (int i = 0; i < 10; ++i) {\n\t\tsum += x[i];\n  }\n",
     {216, 327, 365, 591,  2056, 446, 216,  32,   43,   2056, 2067, 216,   33,   32,   43, 1232,
      27,  89,  25,  1662, 3354, 197, 5422, 4519, 1792, 75,   89,   26695, 3805, 4029, 198}},
    {"I'll say we've WON'T, it's", {57, 3060, 1643, 392, 3543, 408, 2154, 23, 68, 28, 357, 506}},
    {"na\u00efve fa\u00e7ade \u00fcber e\u0301", {3546, 46494, 40852, 5549, 137, 593, 297, 151, 219}},
    {"\u4f60\u597d,\u4e16\u754c \u3053\u3093\u306b\u3061\u306f",
     {18645, 250, 48392, 138, 28, 7906, 240, 178, 239, 230, 46673, 237, 10391, 237, 41152, 7365, 111, 7365,
      124}},
    {"3.14159 and 1 234 567", {35, 30, 33, 36, 33, 37, 41, 284, 216, 33, 216, 34, 35, 36, 216, 37, 38, 39}},
    {"a \n\n  b\r\n\u00a0\u3000c   ", {81, 216, 8866, 278, 2738, 15442, 12109, 218, 83, 333}},
};

TEST(SmolLM2Text, EncodesAndDecodesKnownStrings) {
  auto mapped = edgeq::MappedFile::open(EDGEQ_MODEL_FILE);
  if (!mapped) GTEST_SKIP() << "no model; scripts/fetch_model.sh fetches it";
  const auto file = edgeq::gguf::File::parse(mapped->bytes());
  ASSERT_TRUE(file) << file.error().message;
  const generate::ModelText text = generate::read_text(*file);
  for (const Known& known : known_texts) {
    EXPECT_EQ(text.tokenizer.encode(known.text, true), known.tokens) << known.text;
    std::string decoded;
    for (const int token : known.tokens) decoded += text.tokenizer.decode(token, true);
    EXPECT_EQ(decoded, known.text);
  }
}

}
