// SPDX-License-Identifier: Apache-2.0
// GPTQ checkpoints: known words of every width, both conventions of zero points and their mislabelled files,
// act-order, sizes that are no multiples, refusals.
#include "edgeq/import/gptq.hpp"

#include <gtest/gtest.h>

#include "import/checkpoint_tensors.hpp"

namespace {

using namespace edgeq;
using gptq::ZeroConvention;
using test::Decoded;
using test::expect_decoded;
using test::expect_refused;
using test::TensorStore;
using Words = std::vector<std::uint32_t>;

/// A linear of one word of K and one of N, 4 bits unless said: 8 x 8.
struct SmallLinear {
  TensorStore store;
  gptq::Tensors tensors;
  gptq::Parameters parameters;
  gptq::ZeroDecision decision;

  SmallLinear(const Words& codes, std::uint32_t zeros, float scale, int bits = 4) {
    const auto count = static_cast<std::size_t>(32 / bits);
    tensors.qweight = store.words("layer.qweight", {1, codes.size()}, codes);
    tensors.qzeros = store.words("layer.qzeros", {1, 1}, {zeros});
    tensors.scales =
        store.floats("layer.scales", ElementType::f16, {1, count}, std::vector<float>(count, scale));
    parameters.bits = bits;
  }
  Decoded decoded() {
    return expect_decoded(gptq::visit_weights(tensors, parameters, test::decode, &decision));
  }
};

const Words ascending_codes{0x76543210, 0x87654321, 0x98765432, 0xA9876543,
                            0xBA987654, 0xCBA98765, 0xDCBA9876, 0xEDCBA987};  // code[k, n] = k + n
const Words all_codes_8(8, 0x88888888);

TEST(Gptq, KnownWordsOfFourBits) {
  for (const bool second_version : {false, true}) {
    SmallLinear linear(ascending_codes, second_version ? 0x88888888 : 0x77777777, 0.5f);
    linear.parameters.checkpoint_format = second_version ? "gptq_v2" : "gptq";
    linear.parameters.group_size = 8;
    const Decoded w = linear.decoded();
    EXPECT_EQ(w.format, "int4 sym g* f16");
    ASSERT_EQ(w.n, 8u);
    ASSERT_EQ(w.k, 8u);
    for (std::size_t n = 0; n < 8; ++n)
      for (std::size_t k = 0; k < 8; ++k)
        EXPECT_EQ(w(n, k), 0.5f * (static_cast<float>((k + n) % 16) - 8.0f)) << n << " " << k;
    EXPECT_EQ(w(0, 0), -4.0f);
    EXPECT_EQ(w(3, 5), 0.0f);
    EXPECT_EQ(w(7, 7), 3.0f);
    EXPECT_FALSE(linear.decision.contradicts_label());
  }
}

TEST(Gptq, KnownWordsOfThreeBitsStraddle) {
  TensorStore store;
  gptq::Tensors tensors;
  Words words;
  for (const std::uint32_t word : {0xF19D50F1u, 0x50F19D50u, 0x9D50F19Du})
    words.insert(words.end(), 32, word);  // the same codes in all 32 columns
  tensors.qweight = store.words("layer.qweight", {3, 32}, words);
  tensors.qzeros = store.words("layer.qzeros", {1, 3}, {0x24924924, 0x49249249, 0x92492492});
  tensors.scales = store.floats("layer.scales", ElementType::bf16, {1, 32}, std::vector<float>(32, 1.0f));
  const auto w = expect_decoded(gptq::visit_weights(
      tensors, {.bits = 3, .group_size = 32, .checkpoint_format = "gptq_v2"}, test::decode));
  EXPECT_EQ(w.format, "int4 sym g* bf16");
  for (std::size_t k = 0; k < 32; ++k)
    for (std::size_t n : {0u, 31u}) EXPECT_EQ(w(n, k), static_cast<float>((5 * k + 1) % 8) - 4.0f) << k;
  EXPECT_EQ(w(0, 10), -1.0f);
  EXPECT_EQ(w(0, 21), -2.0f);
}

TEST(Gptq, SymmetricZerosOfEveryWidthInBothVersions) {
  const struct {
    int bits;
    Words first, second;
  } known[] = {{2, {0x55555555}, {0xAAAAAAAA}},
               {3, {0xDB6DB6DB, 0xB6DB6DB6, 0x6DB6DB6D}, {0x24924924, 0x49249249, 0x92492492}},
               {4, {0x77777777}, {0x88888888}},
               {8, {0x7F7F7F7F}, {0x80808080}}};
  for (const auto& width : known)
    for (const bool second : {false, true}) {
      TensorStore store;
      const std::size_t n = width.bits == 3 ? 32 : static_cast<std::size_t>(32 / width.bits);
      const std::size_t rows = width.first.size();
      gptq::Tensors tensors;
      Words codes;  // the symmetric zero in every field
      for (const std::uint32_t word : width.second) codes.insert(codes.end(), n, word);
      tensors.qweight = store.words("layer.qweight", {rows, n}, codes);
      tensors.qzeros = store.words("layer.qzeros", {1, rows}, second ? width.second : width.first);
      tensors.scales = store.floats("layer.scales", ElementType::f32, {1, n}, std::vector<float>(n, 0.25f));
      const auto w = expect_decoded(gptq::visit_weights(
          tensors, {.bits = width.bits, .sym = false, .checkpoint_format = second ? "gptq_v2" : "gptq"},
          test::decode));
      EXPECT_EQ(w.format, width.bits == 8 ? "int8 sym g* f32" : "int4 sym g* f32");
      for (const float value : w.values) EXPECT_EQ(value, 0.0f) << width.bits;
    }
}

TEST(Gptq, MislabelledSymmetricFilesAreReadAsWhatTheyAre) {
  for (const char* label : {"", "gptq", "gptq_v2"})
    for (const std::uint32_t zeros : {0x77777777u, 0x88888888u}) {
      SmallLinear linear(all_codes_8, zeros, 1.0f);
      linear.parameters.checkpoint_format = label;
      const Decoded w = linear.decoded();
      for (const float value : w.values) EXPECT_EQ(value, 0.0f) << label << " " << zeros;
      const bool second = zeros == 0x88888888u;
      EXPECT_EQ(linear.decision.decision, second ? ZeroConvention::zero : ZeroConvention::zero_minus_one);
      EXPECT_EQ(linear.decision.contradicts_label(), second != (std::string(label) == "gptq_v2"));
    }
  SmallLinear linear(all_codes_8, 0x88888888, 1.0f);
  linear.decoded();
  EXPECT_EQ(linear.decision.to_string(),
            "qzeros is labelled gptq, read as gptq_v2: every field is the symmetric zero");
}

TEST(Gptq, TheLabelDecidesForAsymmetricFiles) {
  SmallLinear linear(all_codes_8, 0x88888888, 1.0f);
  linear.parameters.sym = false;
  linear.parameters.checkpoint_format = "gptq";
  const Decoded w = linear.decoded();
  EXPECT_EQ(w.format, "int4 zero g* f16");
  for (const float value : w.values) EXPECT_EQ(value, -1.0f);  // zero 9
  EXPECT_FALSE(linear.decision.contradicts_label());
}

TEST(Gptq, TheLabelDecidesWhereFieldsDiffer) {
  SmallLinear linear(all_codes_8, 0x88888887, 1.0f);  // said to be symmetric, but is not
  const Decoded w = linear.decoded();
  EXPECT_EQ(w(0, 0), 0.0f);
  EXPECT_EQ(w(1, 0), -1.0f);
  EXPECT_EQ(linear.decision.decision, ZeroConvention::zero_minus_one);
}

TEST(Gptq, AFieldOfAllOnesBorrowedFromItsNeighbours) {
  SmallLinear linear(all_codes_8, 0x7777776F, 1.0f);  // zeros 0 8 8 8 8 8 8 8, minus 11111111
  linear.parameters.sym = false;
  const Decoded w = linear.decoded();
  for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(w(n, 0), n == 0 ? 8.0f : 0.0f) << n;
}

TEST(Gptq, AFieldOfAllOnesAtEightBits) {
  SmallLinear linear(Words(4, 0x80808080), 0x7F7F7EFF, 1.0f, 8);  // zeros 0 128 128 128, minus 01010101
  linear.parameters.sym = false;
  const Decoded w = linear.decoded();
  EXPECT_EQ(w(0, 0), 128.0f);
  EXPECT_EQ(w(1, 0), 0.0f);
  EXPECT_EQ(w(2, 0), 0.0f);
}

TEST(Gptq, AFieldOfAllOnesAtThreeBitsIsCountedByItself) {
  TensorStore store;
  gptq::Tensors tensors;
  tensors.qweight = store.words("layer.qweight", {3, 32}, Words(96, 0));
  tensors.qzeros = store.words("layer.qzeros", {1, 3}, {0xDB6DB6DF, 0xB6DB6DB6, 0x6DB6DB6D});  // 7 3 3 3 ...
  tensors.scales = store.floats("layer.scales", ElementType::f16, {1, 32}, std::vector<float>(32, 1.0f));
  const auto w = expect_decoded(gptq::visit_weights(tensors, {.bits = 3, .sym = false}, test::decode));
  EXPECT_EQ(w(0, 0), 0.0f);   // zero (7 + 1) mod 8
  EXPECT_EQ(w(1, 0), -4.0f);  // zero 4
}

TEST(Gptq, EightBitZerosKeepAllBits) {
  SmallLinear linear(Words(4, 0x80808080), 0x7F7F7F7F, 0.5f, 8);
  linear.parameters.sym = false;
  const Decoded w = linear.decoded();
  EXPECT_EQ(w.format, "int8 sym g* f16");
  for (const float value : w.values) EXPECT_EQ(value, 0.0f);
}

// Codes 4 in every row; zeros of two groups, whose rows of qzeros are streams of their own.
TEST(Gptq, ThreeBitZerosStraddleWordsOfTheirRow) {
  TensorStore store;
  gptq::Tensors tensors;
  Words codes;
  for (const std::uint32_t word : {0x24924924u, 0x49249249u, 0x92492492u})
    codes.insert(codes.end(), 64, word);
  Words zeros;
  for (int group = 0; group < 2; ++group)
    zeros.insert(zeros.end(), {0xF19D50F1, 0x50F19D50, 0x9D50F19D, 0x24924924, 0x49249249, 0x92492492});
  tensors.qweight = store.words("layer.qweight", {3, 64}, codes);
  tensors.qzeros = store.words("layer.qzeros", {2, 6}, zeros);
  tensors.scales = store.floats("layer.scales", ElementType::f16, {2, 64}, std::vector<float>(128, 1.0f));
  const gptq::Parameters parameters{
      .bits = 3, .group_size = 16, .sym = false, .checkpoint_format = "gptq_v2"};
  const auto w = expect_decoded(gptq::visit_weights(tensors, parameters, test::decode));
  for (const std::size_t k : {0u, 16u}) {
    EXPECT_EQ(w(10, k), 1.0f);
    EXPECT_EQ(w(21, k), 2.0f);
    for (std::size_t n = 0; n < 32; ++n) EXPECT_EQ(w(n, k), 4.0f - static_cast<float>((5 * n + 1) % 8));
    for (std::size_t n = 32; n < 64; ++n) EXPECT_EQ(w(n, k), 0.0f);
  }

  // A buffer of ceil(32 / 10) words has one too many.
  tensors.qweight = store.words("layer.qweight", {4, 64}, Words(256, 0));
  expect_refused(gptq::visit_weights(tensors, parameters, test::decode), ErrorCode::invalid_file,
                 {"layer.qweight", "I32 [4, 64]", "[3, 64]"});
}

TEST(Gptq, ActOrderedColumnsKeepTheirScales) {
  SmallLinear linear(Words(8, 0x99999999), 0, 1.0f);
  linear.tensors.qzeros = linear.store.words("layer.qzeros", {2, 1}, {0x88888888, 0x88888888});
  std::vector<float> scales(16, 1.0f);
  std::fill(scales.begin() + 8, scales.end(), 2.0f);
  linear.tensors.scales = linear.store.floats("layer.scales", ElementType::f16, {2, 8}, scales);
  linear.tensors.g_idx = linear.store.integers("layer.g_idx", {1, 0, 1, 0, 1, 0, 1, 0});
  linear.parameters = {.group_size = 4, .desc_act = true, .checkpoint_format = "gptq_v2"};
  const Decoded w = linear.decoded();
  EXPECT_EQ(w.order, (std::vector<std::uint32_t>{1, 3, 5, 7, 0, 2, 4, 6}));
  for (std::size_t n = 0; n < 8; ++n)
    for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(w(n, k), k % 2 == 0 ? 2.0f : 1.0f);

  // Without desc_act zeros mean nothing; with it they mean group 0.
  linear.tensors.g_idx = linear.store.integers("layer.g_idx", std::vector<std::int32_t>(8, 0));
  EXPECT_EQ(linear.decoded()(0, 7), 1.0f);
  linear.parameters.desc_act = false;
  EXPECT_EQ(linear.decoded()(0, 7), 2.0f);
  EXPECT_TRUE(linear.decoded().order.empty());
  linear.tensors.g_idx.reset();
  EXPECT_EQ(linear.decoded()(0, 7), 2.0f);
}

TEST(Gptq, AGroupIndexThatIsNotRightIsRefused) {
  SmallLinear linear(all_codes_8, 0, 1.0f);
  linear.tensors.qzeros = linear.store.words("layer.qzeros", {2, 1}, {0x77777777, 0x77777777});
  linear.tensors.scales =
      linear.store.floats("layer.scales", ElementType::f16, {2, 8}, std::vector<float>(16, 1.0f));
  linear.parameters = {.group_size = 4, .desc_act = true};
  for (const std::vector<std::int32_t>& g_idx : {std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 2},
                                                 {0, 1, 0, 1, 0, 1, 0, -1},
                                                 {0, 1, 0, 1, 0, 1, 0}}) {
    linear.tensors.g_idx = linear.store.integers("layer.g_idx", g_idx);
    expect_refused(gptq::visit_weights(linear.tensors, linear.parameters, test::decode),
                   ErrorCode::invalid_file, {"layer.g_idx"});
  }
  linear.tensors.g_idx.reset();
  expect_refused(gptq::visit_weights(linear.tensors, linear.parameters, test::decode),
                 ErrorCode::invalid_file, {"layer.qweight", "desc_act", "no g_idx"});
}

// K = 10 of 16 places, N = 3: GPTQModel rounds words up; the last group is short.
TEST(Gptq, SizesThatAreNoMultiples) {
  TensorStore store;
  gptq::Tensors tensors;
  tensors.qweight =
      store.words("layer.qweight", {2, 3}, {0x98989898, 0x99999999, 0x88888888, 0x98, 0x99, 0xFFFFFF88});
  tensors.qzeros = store.words("layer.qzeros", {3, 1}, {0xFFFFF888, 0x888, 0x888});
  tensors.scales = store.floats("layer.scales", ElementType::f16, {3, 3}, {1, 2, 4, 8, 16, 32, 64, 128, 256});
  gptq::Parameters parameters{.group_size = 4, .k = 10};
  gptq::ZeroDecision decision;
  const auto w = expect_decoded(gptq::visit_weights(tensors, parameters, test::decode, &decision));
  EXPECT_EQ(decision.decision, ZeroConvention::zero) << "padding fields do not count";
  ASSERT_EQ(w.k, 10u);
  for (std::size_t k = 0; k < 10; ++k) {
    const float scale = static_cast<float>(1 << 3 * (k / 4));
    EXPECT_EQ(w(0, k), k % 2 == 1 ? scale : 0.0f);
    EXPECT_EQ(w(1, k), 2 * scale);
    EXPECT_EQ(w(2, k), 0.0f);
  }
  parameters.k = 0;  // as many columns as there is room for would need one more group
  expect_refused(gptq::visit_weights(tensors, parameters, test::decode), ErrorCode::invalid_file,
                 {"layer.qzeros", "I32 [3, 1]", "K = 16", "[4, 1]"});
}

TEST(Gptq, OneGroupForAllOfK) {
  for (const std::int64_t group_size : {std::int64_t{-1}, std::int64_t{128}, INT64_MAX}) {
    SmallLinear linear(ascending_codes, 0x77777777, 2.0f);
    linear.parameters.group_size = group_size;
    const Decoded w = linear.decoded();
    EXPECT_EQ(w.group, 8u);
    EXPECT_EQ(w(7, 7), 12.0f);
  }
}

// Scales of 0, 2^-24, the largest subnormal and the smallest normal number of binary16.
TEST(Gptq, TinyScalesKeepTheirValue) {
  SmallLinear linear(Words(8, 0x99999999), 0x77777777, 1.0f);
  linear.tensors.scales = linear.store.add<std::uint16_t>("layer.scales", ElementType::f16, {1, 8},
                                                          {0, 1, 0x3FF, 0x400, 0, 1, 0x3FF, 0x400});
  const Decoded w = linear.decoded();
  for (std::size_t n = 0; n < 8; ++n) {
    const float scaled[] = {0.0f, 1.0f, 1023.0f, 1024.0f};
    EXPECT_EQ(w(n, 0) * 16777216.0f, scaled[n % 4]);
  }
}

TEST(Gptq, WhatIsAnotherLayoutIsRefusedByName) {
  SmallLinear linear(all_codes_8, 0x77777777, 1.0f);
  const auto read = [&] { return gptq::visit_weights(linear.tensors, linear.parameters, test::decode); };
  for (const char* format : {"gptq_p", "marlin"}) {
    linear.parameters.checkpoint_format = format;
    expect_refused(read(), ErrorCode::unsupported, {"gptq", "layer.qweight", format});
  }
  linear.parameters = {.bits = 5};
  expect_refused(read(), ErrorCode::unsupported, {"5 bits", "2, 3, 4 or 8"});
  linear.parameters = {.group_size = 0};
  expect_refused(read(), ErrorCode::invalid_argument, {"groups of 0"});
  linear.parameters = {};
  linear.tensors.qweight.type = ElementType::i16;  // another pack_dtype
  expect_refused(read(), ErrorCode::unsupported, {"layer.qweight", "I16", "must be I32"});
}

TEST(Gptq, BuffersOfAnotherSizeAreRefused) {
  SmallLinear linear(all_codes_8, 0x77777777, 1.0f);
  const auto read = [&] { return gptq::visit_weights(linear.tensors, linear.parameters, test::decode); };
  const gptq::Tensors good = linear.tensors;
  linear.tensors.qzeros = linear.store.words("layer.qzeros", {1, 2}, {0, 0});
  expect_refused(read(), ErrorCode::invalid_file, {"layer.qzeros", "[1, 2]", "[1, 1]"});
  linear.tensors = good;
  linear.tensors.scales = linear.store.floats("layer.scales", ElementType::f16, {8}, std::vector<float>(8));
  expect_refused(read(), ErrorCode::invalid_file, {"layer.scales", "F16 [8]", "[1, 8]"});
  linear.tensors = good;
  linear.tensors.qweight.data = linear.tensors.qweight.data.first(31);
  expect_refused(read(), ErrorCode::invalid_file, {"layer.qweight", "31 bytes"});
  linear.tensors = good;
  linear.tensors.scales.type = ElementType::f8_e4m3;
  expect_refused(read(), ErrorCode::unsupported, {"layer.scales", "F8_E4M3", "F16 or BF16 or F32"});
}

}
