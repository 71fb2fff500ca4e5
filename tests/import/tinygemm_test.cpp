// SPDX-License-Identifier: Apache-2.0
// The logical form of tinygemm's weights: integer zeros where they are exact, float zeros elsewhere.
#include "edgeq/import/tinygemm.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "import/checkpoint_tensors.hpp"
#include "support/host_state.hpp"

namespace {

using namespace edgeq;
using edgeq::test::decode;
using edgeq::test::Decoded;
using edgeq::test::expect_decoded;
using edgeq::test::expect_refused;
using edgeq::test::TensorStore;

/// One row of codes 0..15 in one group.
Result<Decoded> row_of(float scale, float zero, ElementType type = ElementType::f32) {
  TensorStore store;
  std::vector<std::int32_t> codes;
  for (int code = 0; code < 16; ++code) codes.push_back(code);
  return tinygemm::visit_weights({store.add("codes", ElementType::i32, {1, 16}, codes),
                                  store.floats("scales_and_zeros", type, {1, 1, 2}, {scale, zero})},
                                 {.group_size = 32}, decode);
}

TEST(Tinygemm, ZerosThatAreIntegersOfTheScaleAreIntegerZeros) {
  for (const float scale : {0.5f, 0.0123291015625f, -3.0f})
    for (int z = 0; z < 16; ++z) {
      const Decoded w = expect_decoded(row_of(scale, scale * static_cast<float>(8 - z)));
      EXPECT_EQ(w.format, z == 8 ? "int4 sym g* f32" : "int4 zero g* f32");
      for (int code = 0; code < 16; ++code)
        EXPECT_EQ(w(0, static_cast<std::size_t>(code)), scale * static_cast<float>(code - z));
    }
}

TEST(Tinygemm, OtherZerosStayFloats) {
  const struct { float scale, zero; } cases[] = {{0.5f, 0.3f}, {0.5f, 4.5f}, {0.5f, -4.0f}, {0.0f, 1.0f}};
  for (const auto& [scale, zero] : cases) {
    const Decoded w = expect_decoded(row_of(scale, zero, ElementType::bf16));
    EXPECT_EQ(w.format, std::string("int4 ") + offset::FloatZero::name + " g* bf16") << scale << " " << zero;
    const float stored = BFloat16::from_float(zero).to_float();
    for (int code = 0; code < 16; ++code)
      EXPECT_EQ(w(0, static_cast<std::size_t>(code)), static_cast<float>(code - 8) * scale + stored);
  }
}

TEST(Tinygemm, OneFloatZeroMakesAllOfThemFloats) {
  TensorStore store;
  const auto codes = store.bytes("codes", {2, 4}, {0, 15, 8, 9, 1, 2, 3, 4});
  const auto pairs = store.floats("scales_and_zeros", ElementType::f16, {2, 2, 2},
                                  {1, 3, 2, 0.25f, /* group 1 */ 4, -8, 8, 16});
  const auto w = expect_decoded(tinygemm::visit_weights({codes, pairs}, {.group_size = 2}, decode));
  EXPECT_EQ(w.values, (std::vector<float>{-5, 10, -8, -4, -13.75f, -11.75f, -24, -16}));
  EXPECT_EQ(w.format, std::string("int4 ") + offset::FloatZero::name + " g* f16");
}

TEST(Tinygemm, ValuesThatAreNotFiniteReachTheirWeights) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const struct {
    float scale, zero;
  } cases[] = {{nan, 1.0f},          {infinity, 0.0f}, {infinity, 2.0f},
               {infinity, infinity}, {1.0f, nan},      {1.0f, infinity}};
  for (const auto& [scale, zero] : cases) {
    const Decoded w = expect_decoded(row_of(scale, zero));
    for (int code = 0; code < 16; ++code) {
      const float right = static_cast<float>(code - 8) * scale + zero,
                  found = w(0, static_cast<std::size_t>(code));
      EXPECT_TRUE(std::isnan(right) ? std::isnan(found) : found == right)
          << scale << " " << zero << " " << code;
    }
  }
}

TEST(Tinygemm, AHostThatFlushesSubnormalsChangesNoZero) {
  const Decoded w = [] {
    const ::test::HostState host(true, false);
    return expect_decoded(row_of(1.0f, 0x1p-140f));
  }();
  EXPECT_EQ(w.format, std::string("int4 ") + offset::FloatZero::name + " g* f32");
}

TEST(Tinygemm, WhatIsNotOfTheFormIsRefused) {
  TensorStore store;
  const auto codes = store.add<std::int32_t>("codes", ElementType::i32, {1, 4}, {0, 15, -1, 3});
  const auto pairs = store.floats("scales_and_zeros", ElementType::f32, {1, 1, 2}, {1, 0});
  expect_refused(tinygemm::visit_weights({codes, pairs}, {}, decode), ErrorCode::invalid_file,
                 {"tinygemm", "codes", "code 4294967295", "n = 0, k = 2"});
  const auto packed = store.bytes("codes", {1, 2}, {0x10, 0x32});  // two codes to a byte
  expect_refused(tinygemm::visit_weights({packed, pairs}, {}, decode), ErrorCode::invalid_file, {"code 16"});
  const auto good = store.bytes("codes", {1, 4}, {0, 1, 2, 3});
  expect_refused(tinygemm::visit_weights({good, pairs}, {.group_size = 2}, decode), ErrorCode::invalid_file,
                 {"scales_and_zeros", "[1, 1, 2]", "[2, 1, 2]"});
}

}
