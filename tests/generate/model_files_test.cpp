// SPDX-License-Identifier: Apache-2.0
// The tokenizers of the models that scripts/fetch_model.sh fetches: ids that llama.cpp gives for the same
// strings. Skipped where a model is not.
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

const std::vector<Known> known_smollm2{
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

const std::vector<Known> known_gemma3{
    {"Hello, world!", {9259, 236764, 1902, 236888}},
    {"<start_of_turn>user\nWhat is 12 + 345?<end_of_turn>\n<start_of_turn>model\n",
     {105, 2364, 107, 3689, 563, 236743, 236770, 236778, 900, 236743, 236800, 236812, 236810, 236881, 106,
      107, 105, 4368, 107}},
    {"  for (int i = 0; i < 10; ++i) {\n\t\tsum += x[i];\n  }\n",
     {138,    1708,   568,    720,    858,   578,    236743, 236771, 236793, 858,    655,
      236743, 236770, 236771, 236793, 12215, 236747, 236768, 642,    107,    255969, 2330,
      3323,   1123,   236840, 236747, 2312,  107,    138,    236783, 107}},
    {"I'll say we've WON'T, it's",
     {236777, 236789, 859, 1879, 692, 236789, 560, 182508, 236789, 236774, 236764, 625, 236789, 236751}},
    {"na\u00efve fa\u00e7ade \u00fcber e\u0301", {1789, 238527, 560, 96008, 8046, 545, 238288}},
    {"\u4f60\u597d,\u4e16\u754c \u3053\u3093\u306b\u3061\u306f", {144626, 236764, 12811, 79433}},
    {"\U0001F642\U0001F468\u200d\U0001F469\u200d\U0001F467 \U00012345",  // the last one in bytes
     {240731, 243874, 237243, 243767, 237243, 244814, 236743, 478, 384, 379, 371}},
    {"3.14159 and 1 234 567",
     {236800, 236761, 236770, 236812, 236770, 236810, 236819, 532, 236743, 236770, 236743, 236778, 236800,
      236812, 236743, 236810, 236825, 236832}},
    {"a \n\n  b\r\n\u00a0\u3000c   ",
     {236746, 236743, 108, 138, 236763, 251, 107, 432, 398, 465, 366, 366, 236755, 139}},
    {std::string(40, ' ') + std::string(40, '\n'), {167, 145, 137, 115}},
    {"<table><td>x</td> <0x41> <unused7> <bos",
     {168, 175, 236781, 183, 655, 236771, 236781, 236812, 236770, 236813, 236743, 13, 655, 46757}},
};

void expect_known(const char* file_name, const std::vector<Known>& known_texts) {
  const auto mapped = edgeq::MappedFile::open(std::string(EDGEQ_MODELS_FOLDER "/") + file_name);
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

TEST(ModelFiles, TokensOfSmolLM2) {
  expect_known("SmolLM2-135M-Instruct.Q4_1.gguf", known_smollm2);
}

TEST(ModelFiles, TokensOfGemma3) {
  expect_known("gemma-3-270m-q4_k_m.gguf", known_gemma3);
}

}
