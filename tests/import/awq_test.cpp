// SPDX-License-Identifier: Apache-2.0
// AWQ checkpoints: the interleave of known words, groups, other versions refused.
#include "edgeq/import/awq.hpp"

#include <gtest/gtest.h>

#include "import/checkpoint_tensors.hpp"

namespace {

using namespace edgeq;
using test::expect_decoded;
using test::expect_refused;
using test::TensorStore;

TEST(Awq, KnownWordsAreInterleaved) {
  TensorStore store;
  awq::Tensors tensors;
  tensors.qweight = store.words("layer.qweight", {1, 1}, {0x88888888});
  tensors.qzeros = store.words("layer.qzeros", {1, 1}, {0x75316420});  // zeros 0..7
  tensors.scales = store.floats("layer.scales", ElementType::f16, {1, 8}, std::vector<float>(8, 1.0f));
  auto w = expect_decoded(awq::visit_weights(tensors, {}, test::decode));
  EXPECT_EQ(w.format, "int4 zero g* f16");
  EXPECT_EQ(w.values, (std::vector<float>{8, 7, 6, 5, 4, 3, 2, 1}));

  std::swap(tensors.qweight, tensors.qzeros);  // codes 0..7, zeros 8: symmetric
  w = expect_decoded(awq::visit_weights(tensors, {}, test::decode));
  EXPECT_EQ(w.format, "int4 sym g* f16");
  EXPECT_EQ(w.values, (std::vector<float>{-8, -7, -6, -5, -4, -3, -2, -1}));
}

// Two words of columns, two groups of two k: every factor depends on n, on k, or on both.
TEST(Awq, GroupsAndWordsAreInPlace) {
  TensorStore store;
  awq::Tensors tensors;
  tensors.qweight = store.words("layer.qweight", {4, 2},
                                {0x00000000, 0x11111111, 0x22222222, 0x33333333, 0x44444444, 0x55555555,
                                 0x66666666, 0x77777777});  // code 2 k + n / 8
  tensors.qzeros = store.words("layer.qzeros", {2, 2}, {0x00000000, 0x11111111, 0x22222222, 0x33333333});
  std::vector<float> scales;
  for (int i = 0; i < 32; ++i) scales.push_back(static_cast<float>(i + 1));
  tensors.scales = store.floats("layer.scales", ElementType::bf16, {2, 16}, scales);
  const auto w =
      expect_decoded(awq::visit_weights(tensors, {.group_size = 2, .version = "GEMM"}, test::decode));
  EXPECT_EQ(w.format, "int4 zero g* bf16");
  ASSERT_EQ(w.n, 16u);
  ASSERT_EQ(w.k, 4u);
  for (std::size_t n = 0; n < 16; ++n)
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t code = 2 * k + n / 8, zero = 2 * (k / 2) + n / 8, scale = k / 2 * 16 + n + 1;
      EXPECT_EQ(w(n, k), static_cast<float>(scale * (code - zero))) << n << " " << k;
    }
}

TEST(Awq, WhatIsAnotherLayoutIsRefusedByName) {
  TensorStore store;
  awq::Tensors tensors;
  tensors.qweight = store.words("layer.qweight", {6, 1}, std::vector<std::uint32_t>(6));
  tensors.qzeros = store.words("layer.qzeros", {2, 1}, {0, 0});
  tensors.scales = store.floats("layer.scales", ElementType::f16, {2, 8}, std::vector<float>(16));
  const auto read = [&](const awq::Parameters& p) { return awq::visit_weights(tensors, p, test::decode); };
  EXPECT_TRUE(read({.group_size = 3}));
  for (const char* version : {"gemv", "gemv_fast", "marlin", "llm-awq", ""})
    expect_refused(read({.group_size = 3, .version = version}), ErrorCode::unsupported,
                   {"awq", "layer.qweight", version});
  expect_refused(read({.bits = 8, .group_size = 3}), ErrorCode::unsupported, {"8 bits"});
  expect_refused(read({.group_size = 3, .zero_point = false}), ErrorCode::unsupported, {"zero_point"});
  expect_refused(read({.group_size = 4}), ErrorCode::invalid_file,
                 {"layer.qweight", "I32 [6, 1]", "group, 4"});
  expect_refused(read({.group_size = -1}), ErrorCode::invalid_file, {"layer.qzeros", "[2, 1]", "[1, 1]"});
  tensors.scales = store.floats("layer.scales", ElementType::f16, {2, 1}, {1, 1});
  expect_refused(read({.group_size = 3}), ErrorCode::invalid_file, {"layer.scales", "F16 [2, 1]", "[2, 8]"});
}

}
