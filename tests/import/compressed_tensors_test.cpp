// SPDX-License-Identifier: Apache-2.0
// compressed-tensors checkpoints: known words, both packings of odd widths and how they are told apart, zero
// points, act-order, plain integers and floats.
#include "edgeq/import/compressed_tensors.hpp"

#include <gtest/gtest.h>

#include "import/checkpoint_tensors.hpp"

namespace {

using namespace edgeq;
using compressed_tensors::Packing;
using compressed_tensors::Parameters;
using compressed_tensors::Strategy;
using compressed_tensors::Tensors;
using test::Decoded;
using test::expect_decoded;
using test::expect_refused;
using test::TensorStore;
using Words = std::vector<std::uint32_t>;

/// Packed weights [N, K] whose scales are all 1, in one group.
struct PackedLinear {
  TensorStore store;
  Tensors tensors;
  Parameters parameters;

  PackedLinear(int bits, std::size_t n, std::size_t k, const Words& words) {
    tensors.weight = store.words("layer.weight_packed", {n, words.size() / n}, words);
    tensors.weight_scale =
        store.floats("layer.weight_scale", ElementType::bf16, {n, 1}, std::vector<float>(n, 1));
    tensors.weight_shape =
        store.add("layer.weight_shape", ElementType::i64, {2},
                  std::vector<std::int64_t>{static_cast<std::int64_t>(n), static_cast<std::int64_t>(k)});
    parameters.bits = bits;
    parameters.strategy = Strategy::channel;
  }
  Result<Decoded> read() const {
    return compressed_tensors::visit_weights(tensors, parameters, test::decode);
  }
};

TEST(CompressedTensors, KnownWordOfFourBits) {
  const Decoded w = expect_decoded(PackedLinear(4, 1, 8, {0xFA983210}).read());
  EXPECT_EQ(w.format, "int4 sym g* bf16");
  EXPECT_EQ(w.values, (std::vector<float>{-8, -7, -6, -5, 0, 1, 2, 7}));
}

TEST(CompressedTensors, ZeroPointsArePackedAlongN) {
  PackedLinear linear(4, 4, 8, Words(4, 0x88888888));
  linear.tensors.weight_zero_point = linear.store.words("layer.weight_zero_point", {1, 1}, {0x0000F870});
  linear.parameters.symmetric = false;
  const Decoded w = expect_decoded(linear.read());
  EXPECT_EQ(w.format, "int4 zero g* bf16");
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(w(0, k), 8.0f);  // 0 - (-8)
    EXPECT_EQ(w(1, k), 1.0f);
    EXPECT_EQ(w(2, k), 0.0f);
    EXPECT_EQ(w(3, k), -7.0f);
  }
}

const std::vector<float> twelve{-4, -3, -2, -1, 0, 1, 2, 3, 3, 2, 1, 0};
const Words dense_twelve{0x77FAC688, 0x00000009}, padded_twelve{0x37FAC688, 0x00000025};

TEST(CompressedTensors, TheVersionDecidesBetweenPackingsOfOneShape) {
  for (const char* version : {"0.18.0", "0.20.1", "1.0.0"}) {
    PackedLinear linear(3, 1, 12, dense_twelve);
    linear.parameters.version = version;
    EXPECT_EQ(expect_decoded(linear.read()).values, twelve) << version;
  }
  for (const char* version : {"0.17.1", "0.15.0.1", "0.9.4"}) {
    PackedLinear linear(3, 1, 12, padded_twelve);
    linear.parameters.version = version;
    EXPECT_EQ(expect_decoded(linear.read()).values, twelve) << version;
  }
  for (const char* version : {"", "0.17.2.a20260610", "latest", "0", "0.18", "0..18"}) {
    PackedLinear linear(3, 1, 12, dense_twelve);
    linear.parameters.version = version;
    expect_refused(linear.read(), ErrorCode::unsupported,
                   {"layer.weight_packed", "I32 [1, 2]", "both packings of 3 bits", version});
  }
}

TEST(CompressedTensors, TheShapeDecidesBetweenPackingsWhereItCan) {
  // K = 128 at 3 bits: 12 words, or 13 of 10 codes. Code k is k mod 8.
  Words dense(12), padded(13);
  for (std::size_t k = 0; k < 128; ++k)
    for (std::size_t bit = 0; bit < 3; ++bit) {
      const auto value = static_cast<std::uint32_t>(k >> bit & 1);
      dense[(3 * k + bit) / 32] |= value << (3 * k + bit) % 32;
      padded[k / 10] |= value << (k % 10 * 3 + bit);
    }
  for (const Words& words : {dense, padded}) {
    PackedLinear linear(3, 1, 128, words);
    linear.parameters.version = words.size() == 12 ? "0.15.0" : "0.20.0";  // a wrong one does not matter
    const Decoded w = expect_decoded(linear.read());
    for (std::size_t k = 0; k < 128; ++k) EXPECT_EQ(w(0, k), static_cast<float>(k % 8) - 4.0f) << k;
  }
  // Up to ten codes both packings are the same.
  EXPECT_EQ(expect_decoded(PackedLinear(3, 1, 10, {0x37FAC688}).read()).values,
            std::vector<float>(twelve.begin(), twelve.begin() + 10));
  expect_refused(PackedLinear(3, 1, 128, Words(14)).read(), ErrorCode::invalid_file,
                 {"layer.weight_packed", "I32 [1, 14]", "[1, 12] or [1, 13]"});
}

TEST(CompressedTensors, TheZeroPointsShapeCanDecideToo) {
  // N = 128 rows of 12 codes: the codes fit both packings, the zero points only one.
  for (const bool dense : {true, false}) {
    Words words;
    for (int n = 0; n < 128; ++n) {
      const Words& row = dense ? dense_twelve : padded_twelve;
      words.insert(words.end(), row.begin(), row.end());
    }
    PackedLinear linear(3, 128, 12, words);
    const std::size_t zero_words = dense ? 12 : 13;
    linear.tensors.weight_zero_point =
        linear.store.words("layer.weight_zero_point", {zero_words, 1}, Words(zero_words));
    linear.parameters.symmetric = false;
    const Decoded w = expect_decoded(linear.read());  // zero points -4
    for (std::size_t n = 0; n < 128; ++n)
      for (std::size_t k = 0; k < 12; ++k) ASSERT_EQ(w(n, k), twelve[k] + 4.0f);
  }
  // Ten codes are the same in both packings, twelve zero points are not.
  PackedLinear few(3, 12, 10, Words(12));
  few.tensors.weight_zero_point = few.store.words("layer.weight_zero_point", {2, 1}, {0, 0});
  expect_refused(few.read(), ErrorCode::unsupported, {"both packings of 3 bits"});
  few.parameters.version = "0.18.0";
  EXPECT_TRUE(few.read());

  PackedLinear linear(4, 4, 8, Words(4));
  linear.tensors.weight_zero_point = linear.store.words("layer.weight_zero_point", {2, 1}, {0, 0});
  expect_refused(linear.read(), ErrorCode::invalid_file,
                 {"layer.weight_zero_point", "I32 [2, 1]", "1 words"});
}

TEST(CompressedTensors, EveryWidthAndStrategyInBothPackings) {
  for (int bits = 1; bits <= 8; ++bits)
    for (const Packing packing : {Packing::dense, Packing::padded})
      for (const Strategy strategy : {Strategy::group, Strategy::channel, Strategy::tensor}) {
        const std::size_t n = 35, k = 42, groups = strategy == Strategy::group ? 3 : 1;
        const auto width = static_cast<std::size_t>(bits), per_word = 32 / width;
        const auto words_of = [&](std::size_t count) {
          return packing == Packing::dense ? (count * width + 31) / 32 : (count + per_word - 1) / per_word;
        };
        // Adds bit by bit, in words `step` apart from `first` on.
        const auto put = [&](Words& words, std::size_t first, std::size_t step, std::size_t i,
                             std::size_t value) {
          for (std::size_t b = 0; b < width; ++b) {
            const std::size_t at =
                packing == Packing::dense ? i * width + b : i / per_word * 32 + i % per_word * width + b;
            words[first + at / 32 * step] |= static_cast<std::uint32_t>(value >> b & 1) << at % 32;
          }
        };
        const std::size_t mask = (std::size_t{1} << bits) - 1;
        const auto code = [&](std::size_t row, std::size_t i) { return (row * 11 + i * 5) & mask; };
        const auto zero = [&](std::size_t row, std::size_t g) {
          return strategy == Strategy::tensor ? mask : (row * 3 + g) & mask;
        };
        Words codes(n * words_of(k)), zeros(words_of(n) * groups);
        std::vector<float> scales;
        for (std::size_t row = 0; row < n; ++row) {
          for (std::size_t i = 0; i < k; ++i) put(codes, row * words_of(k), 1, i, code(row, i));
          for (std::size_t g = 0; g < groups; ++g) {
            put(zeros, g, groups, row, zero(row, g));
            if (strategy != Strategy::tensor || scales.empty())
              scales.push_back(static_cast<float>(row + g + 1));
          }
        }
        PackedLinear linear(bits, n, k, codes);
        linear.parameters = {.bits = bits,
                             .symmetric = false,
                             .strategy = strategy,
                             .group_size = 14,
                             .version = packing == Packing::dense ? "0.18.0" : "0.17.1"};
        const std::vector<std::size_t> shape =
            strategy == Strategy::tensor ? std::vector<std::size_t>{1} : std::vector<std::size_t>{n, groups};
        linear.tensors.weight_scale =
            linear.store.floats("layer.weight_scale", ElementType::f16, shape, scales);
        const auto plain_zero = static_cast<std::int8_t>(static_cast<int>(mask) - (1 << (bits - 1)));
        linear.tensors.weight_zero_point =
            strategy == Strategy::tensor
                ? linear.store.add<std::int8_t>("layer.weight_zero_point", ElementType::i8, {1}, {plain_zero})
                : linear.store.words("layer.weight_zero_point", {words_of(n), groups}, zeros);
        const Decoded w = expect_decoded(linear.read());
        for (std::size_t row = 0; row < n; ++row)
          for (std::size_t i = 0; i < k; ++i) {
            const std::size_t g = groups == 1 ? 0 : i / 14;
            const float scale = strategy == Strategy::tensor ? 1.0f : static_cast<float>(row + g + 1);
            ASSERT_EQ(w(row, i),
                      scale * (static_cast<float>(code(row, i)) - static_cast<float>(zero(row, g))))
                << bits << " bits, row " << row << ", k " << i;
          }
      }
}

TEST(CompressedTensors, ActOrderedGroups) {
  PackedLinear linear(4, 1, 8, {0x99999999});
  linear.parameters = {.group_size = 4};
  linear.tensors.weight_scale = linear.store.floats("layer.weight_scale", ElementType::f32, {1, 2}, {1, 2});
  linear.tensors.weight_g_idx = linear.store.integers("layer.weight_g_idx", {1, 0, 1, 0, 1, 0, 1, 0});
  EXPECT_EQ(expect_decoded(linear.read()).values, (std::vector<float>{2, 1, 2, 1, 2, 1, 2, 1}));
  linear.tensors.weight_g_idx = linear.store.integers("layer.weight_g_idx", std::vector<std::int32_t>(8, -1));
  EXPECT_EQ(expect_decoded(linear.read()).values, (std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2}))
      << "never set";
  linear.tensors.weight_g_idx = linear.store.integers("layer.weight_g_idx", {0, 0, 0, 0, 0, 0, 0, 2});
  expect_refused(linear.read(), ErrorCode::invalid_file, {"layer.weight_g_idx", "column 7", "group 2"});
}

TEST(CompressedTensors, PlainIntegers) {
  TensorStore store;
  const auto weight =
      store.add<std::int8_t>("layer.weight", ElementType::i8, {2, 4}, {-128, -1, 0, 127, 1, 2, 3, 4});
  const auto scale = store.floats("layer.weight_scale", ElementType::bf16, {2, 1}, {0.5f, 2});
  Parameters parameters{.bits = 8, .strategy = Strategy::channel};
  const auto read = [&](const Tensors& tensors) {
    return compressed_tensors::visit_weights(tensors, parameters, test::decode);
  };
  Decoded w = expect_decoded(read({weight, scale}));
  EXPECT_EQ(w.format, "int8 sym g* bf16");
  EXPECT_EQ(w.values, (std::vector<float>{-64, -0.5f, 0, 63.5f, 2, 4, 6, 8}));

  parameters.symmetric = false;
  const auto zeros = store.add<std::int8_t>("layer.weight_zero_point", ElementType::i8, {2, 1}, {-128, 127});
  w = expect_decoded(read({weight, scale, {}, zeros}));
  EXPECT_EQ(w.format, "int8 zero g* bf16");
  EXPECT_EQ(w.values, (std::vector<float>{0, 63.5f, 64, 127.5f, -252, -250, -248, -246}));
  expect_refused(read({weight, scale}), ErrorCode::invalid_file, {"layer.weight", "no weight_zero_point"});

  parameters = {.bits = 8, .strategy = Strategy::group, .group_size = 2};
  const auto groups = store.floats("layer.weight_scale", ElementType::f32, {2, 2}, {1, 2, 4, 8});
  EXPECT_EQ(expect_decoded(read({weight, groups})).values,
            (std::vector<float>{-128, -1, 0, 254, 4, 8, 24, 32}));
  parameters = {.bits = 8, .strategy = Strategy::tensor};
  const auto single = store.floats("layer.weight_scale", ElementType::f32, {}, {2});
  EXPECT_EQ(expect_decoded(read({weight, single})).values,
            (std::vector<float>{-256, -2, 0, 254, 2, 4, 6, 8}));
}

TEST(CompressedTensors, Floats) {
  TensorStore store;
  const auto weight =
      store.bytes("layer.weight", {3, 4}, std::vector<std::uint8_t>(12, 0x38), ElementType::f8_e4m3);
  const auto read = [&](const std::vector<std::size_t>& shape, const std::vector<float>& scales,
                        const Parameters& parameters) {
    return compressed_tensors::visit_weights(
        {weight, store.floats("layer.weight_scale", ElementType::bf16, shape, scales)}, parameters,
        test::decode);
  };
  EXPECT_EQ(expect_decoded(read({1}, {3}, {.bits = 8, .strategy = Strategy::tensor})).values,
            std::vector<float>(12, 3.0f));
  EXPECT_EQ(expect_decoded(read({3, 1}, {1, 2, 4}, {.bits = 8, .strategy = Strategy::channel})).values,
            (std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4}));
  EXPECT_EQ(expect_decoded(read({3, 2}, {1, 2, 3, 4, 5, 6}, {.bits = 8, .group_size = 2})).values,
            (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
  EXPECT_EQ(expect_decoded(read({2, 2}, {1, 2, 3, 4},
                                {.bits = 8, .strategy = Strategy::block, .block = fp8::Block{2, 3}}))
                .values,
            (std::vector<float>{1, 1, 1, 2, 1, 1, 1, 2, 3, 3, 3, 4}));
  expect_refused(read({2, 2}, {1, 2, 3, 4}, {.bits = 8, .strategy = Strategy::block}), ErrorCode::unsupported,
                 {"layer.weight", "block_structure"});
  expect_refused(
      compressed_tensors::visit_weights({store.bytes("layer.weight", {1, 1}, {0}, ElementType::f8_e4m3fnuz),
                                         store.floats("layer.weight_scale", ElementType::f32, {1}, {1})},
                                        {.bits = 8, .strategy = Strategy::tensor}, test::decode),
      ErrorCode::unsupported, {"layer.weight", "F8_E4M3FNUZ"});
}

TEST(CompressedTensors, ContradictionsAreRefused) {
  PackedLinear linear(4, 2, 8, {0, 0});
  const Tensors good = linear.tensors;
  linear.parameters = {.group_size = 3};
  expect_refused(linear.read(), ErrorCode::invalid_file,
                 {"layer.weight_packed", "K = 8", "multiple of the group, 3"});
  linear.parameters = {.group_size = 16};  // the writer refuses a K below the group
  expect_refused(linear.read(), ErrorCode::invalid_file, {"K = 8", "group, 16"});
  linear.parameters = {.group_size = 4};
  expect_refused(linear.read(), ErrorCode::invalid_file, {"layer.weight_scale", "BF16 [2, 1]", "[2, 2]"});
  linear.parameters = {.bits = 4, .strategy = Strategy::block};
  expect_refused(linear.read(), ErrorCode::unsupported, {"scale per block"});
  linear.parameters = {.bits = 9, .strategy = Strategy::channel};
  expect_refused(linear.read(), ErrorCode::invalid_argument, {"9 bits"});
  linear.parameters = {.bits = 4, .strategy = Strategy::channel};
  linear.tensors.weight_shape.reset();
  expect_refused(linear.read(), ErrorCode::invalid_file, {"layer.weight_packed", "no weight_shape"});
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, -8}, {-1, 8}, {3, 8}}) {
    linear.tensors.weight_shape = linear.store.add("layer.weight_shape", ElementType::i64, {2}, shape);
    expect_refused(linear.read(), ErrorCode::invalid_file, {"layer.weight_shape", "I32 [2, 1]"});
  }
  linear.tensors.weight_shape =
      linear.store.add<std::int64_t>("layer.weight_shape", ElementType::i64, {2}, {2, INT64_MAX});
  expect_refused(linear.read(), ErrorCode::invalid_file, {"layer.weight_packed", "I32 [2, 1]"});

  linear.tensors = good;
  linear.parameters = {.bits = 4, .symmetric = false, .strategy = Strategy::tensor};
  linear.tensors.weight_scale = linear.store.floats("layer.weight_scale", ElementType::f32, {1}, {1});
  linear.tensors.weight_zero_point =
      linear.store.add<std::int8_t>("layer.weight_zero_point", ElementType::i8, {1}, {-9});
  expect_refused(linear.read(), ErrorCode::invalid_file, {"layer.weight_zero_point", "-9", "begin at -8"});
}

TEST(CompressedTensors, VersionsOfThePackings) {
  using compressed_tensors::packing_of_version;
  EXPECT_EQ(packing_of_version("0.17.1"), Packing::padded);
  EXPECT_EQ(packing_of_version("0.18.0"), Packing::dense);
  EXPECT_EQ(packing_of_version("0.17.2"), std::nullopt);
  EXPECT_EQ(packing_of_version("0.17"), std::nullopt);
}

}
