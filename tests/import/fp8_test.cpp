// SPDX-License-Identifier: Apache-2.0
// FP8 checkpoints: blocks at the edges of a matrix, scales of every type and shape, slices of rows.
#include "edgeq/import/fp8.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "import/checkpoint_tensors.hpp"

namespace {

using namespace edgeq;
using test::Decoded;
using test::expect_decoded;
using test::expect_refused;
using test::TensorStore;
using Bytes = std::vector<std::uint8_t>;

constexpr fp8::Block deepseek{128, 128};
constexpr std::uint8_t one = 0x38;  // 1.0 in e4m3

TEST(Fp8, BlocksAreShortAtTheEdges) {
  TensorStore store;
  const auto weight = store.bytes("layer.weight", {130, 129}, Bytes(130 * 129, one), ElementType::f8_e4m3);
  const auto scale = store.floats("layer.weight_scale_inv", ElementType::f32, {2, 2}, {2, 3, 5, 7});
  const Decoded w = expect_decoded(fp8::visit_weights({weight, scale}, {deepseek}, test::decode));
  EXPECT_EQ(w.format, "fp8 e4m3 b*x*");
  EXPECT_EQ(w.group, 128u);
  EXPECT_EQ(w(127, 127), 2.0f);
  EXPECT_EQ(w(127, 128), 3.0f);
  EXPECT_EQ(w(128, 127), 5.0f);
  EXPECT_EQ(w(129, 128), 7.0f);
  for (std::size_t n = 0; n < 130; ++n) {
    float sum = 0;
    for (std::size_t k = 0; k < 129; ++k) sum += w(n, k);
    EXPECT_EQ(sum, n < 128 ? 259.0f : 647.0f);
  }
}

// A block of ceil(rows / scales) would be 65.
TEST(Fp8, TheBlockComesFromTheConfiguration) {
  TensorStore store;
  const auto weight = store.bytes("layer.weight", {130, 1}, Bytes(130, one), ElementType::f8_e4m3);
  const auto scale = store.floats("layer.weight_scale_inv", ElementType::f32, {2, 1}, {2, 3});
  const Decoded w = expect_decoded(fp8::visit_weights({weight, scale}, {deepseek}, test::decode));
  for (std::size_t n = 0; n < 130; ++n) EXPECT_EQ(w(n, 0), n < 128 ? 2.0f : 3.0f) << n;
  expect_refused(fp8::visit_weights({weight, scale}, {}, test::decode), ErrorCode::invalid_file,
                 {"layer.weight_scale_inv", "F32 [2, 1]"});
}

TEST(Fp8, EveryCodeHasItsValue) {
  Bytes codes(256);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
  TensorStore store;
  const auto scale = store.floats("scale", ElementType::f32, {}, {2});
  const Decoded e4m3 = expect_decoded(
      fp8::visit_weights({store.bytes("w", {1, 256}, codes, ElementType::f8_e4m3), scale}, {}, test::decode));
  const Decoded e5m2 = expect_decoded(
      fp8::visit_weights({store.bytes("w", {1, 256}, codes, ElementType::f8_e5m2), scale}, {}, test::decode));
  EXPECT_EQ(e5m2.format, "fp8 e5m2 b*x*");
  EXPECT_EQ(e4m3(0, 0x01), 2 * 0.001953125f);
  EXPECT_EQ(e4m3(0, 0x07), 2 * 0.013671875f);
  EXPECT_EQ(e4m3(0, 0x08), 2 * 0.015625f);
  EXPECT_EQ(e4m3(0, 0x7C), 2 * 384.0f);
  EXPECT_EQ(e4m3(0, 0x7E), 2 * 448.0f);
  EXPECT_EQ(e4m3(0, 0xFC), 2 * -384.0f);
  EXPECT_TRUE(std::isnan(e4m3(0, 0x7F)) && std::isnan(e4m3(0, 0xFF)));
  EXPECT_EQ(e5m2(0, 0x07), 2 * 0.0001068115234375f);
  EXPECT_EQ(e5m2(0, 0x7B), 2 * 57344.0f);
  EXPECT_EQ(e5m2(0, 0x7C), INFINITY);
  EXPECT_TRUE(std::isnan(e5m2(0, 0x7E)));
}

TEST(Fp8, ScalesOfEveryShape) {
  TensorStore store;
  const auto weight = store.bytes("w", {3, 2}, Bytes(6, one), ElementType::f8_e4m3);
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{}, {1}, {1, 1}}) {
    const auto w = expect_decoded(
        fp8::visit_weights({weight, store.floats("s", ElementType::f32, shape, {3})}, {}, test::decode));
    EXPECT_EQ(w.values, std::vector<float>(6, 3.0f));
  }
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{3}, {3, 1}}) {
    const auto w = expect_decoded(fp8::visit_weights(
        {weight, store.floats("s", ElementType::f32, shape, {1, 2, 4})}, {}, test::decode));
    EXPECT_EQ(w.values, (std::vector<float>{1, 1, 2, 2, 4, 4}));
  }
}

TEST(Fp8, ScalesOfEveryTypeAreWidenedExactly) {
  TensorStore store;
  const auto weight = store.bytes("w", {4, 1}, Bytes(4, one), ElementType::f8_e4m3);
  const auto read = [&](const CheckpointTensor& scale) {
    return expect_decoded(fp8::visit_weights({weight, scale}, {}, test::decode));
  };
  const std::vector<float> exact{0.5f, 3.0f, 1.0f / 4096, -2.0f};
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f32})
    EXPECT_EQ(read(store.floats("s", type, {4}, exact)).values, exact);
  EXPECT_EQ(read(store.add<std::uint16_t>("s", ElementType::f16, {4}, {1, 0x3FF, 0x400, 0})).values,
            (std::vector<float>{0x1p-24f, 1023 * 0x1p-24f, 0x1p-14f, 0}));
  const auto powers = read(store.bytes("s", {4}, {0x82, 0, 254, 255}, ElementType::f8_e8m0));
  EXPECT_EQ(powers(0, 0), 8.0f);
  EXPECT_EQ(powers(1, 0), 0x1p-127f);
  EXPECT_EQ(powers(2, 0), 0x1p127f);
  EXPECT_TRUE(std::isnan(powers(3, 0)));
}

TEST(Fp8, SlicesOfRowsKeepTheirBlocks) {
  TensorStore store;
  Bytes codes(10 * 3);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(0x30 + i);
  const auto weight = store.bytes("w", {10, 3}, codes, ElementType::f8_e4m3);
  const auto scale = store.floats("s", ElementType::f32, {3, 2}, {1, 2, 3, 5, 7, 11});
  const fp8::Parameters parameters{fp8::Block{4, 2}};
  const Decoded whole = expect_decoded(fp8::visit_weights({weight, scale}, parameters, test::decode));
  for (std::size_t first = 0; first <= 10; ++first)
    for (std::size_t count = 0; first + count <= 10; ++count) {
      const auto part = expect_decoded(
          fp8::visit_weights({weight, scale}, parameters, [&](const auto& source) -> Result<Decoded> {
            const auto rest = source.slice(first, 10 - first);  // a slice of a slice
            return test::decode(*rest->slice(0, count));
          }));
      ASSERT_EQ(part.n, count);
      for (std::size_t i = 0; i < part.values.size(); ++i)
        ASSERT_EQ(part.values[i], whole.values[first * 3 + i]) << first << " " << count;
    }
  const auto beyond =
      fp8::visit_weights({weight, scale}, parameters,
                         [](const auto& source) -> Result<Decoded> { return source.slice(8, 3).error(); });
  expect_refused(beyond, ErrorCode::invalid_argument, {"rows 8 to 8 + 3", "matrix of 10"});
}

TEST(Fp8, AMatrixWithoutElements) {
  TensorStore store;
  const auto scale = store.floats("s", ElementType::f32, {1}, {1});
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{0, 5}, {5, 0}, {0, 0}}) {
    const auto weight = store.bytes("w", shape, {}, ElementType::f8_e4m3);
    EXPECT_TRUE(expect_decoded(fp8::visit_weights({weight, scale}, {}, test::decode)).values.empty());
  }
}

TEST(Fp8, OtherTypesAndShapesAreRefusedByName) {
  TensorStore store;
  const auto scale = store.floats("s", ElementType::f32, {1}, {1});
  const auto read = [&](ElementType type, const fp8::Parameters& parameters = {}) {
    return fp8::visit_weights({store.bytes("w", {2, 2}, Bytes(4), type), scale}, parameters, test::decode);
  };
  expect_refused(read(ElementType::f8_e4m3fnuz), ErrorCode::unsupported, {"fp8", "tensor w", "F8_E4M3FNUZ"});
  expect_refused(read(ElementType::f8_e5m2fnuz), ErrorCode::unsupported, {"F8_E5M2FNUZ"});
  expect_refused(read(ElementType::i8), ErrorCode::unsupported, {"I8 [2, 2]"});
  expect_refused(read(ElementType::f8_e4m3, {fp8::Block{0, 128}}), ErrorCode::invalid_argument, {"0 x 128"});
  expect_refused(read(ElementType::f8_e4m3, {deepseek}), ErrorCode::invalid_file,
                 {"tensor s", "[1]", "[1, 1]"});
  const auto weight = store.bytes("w", {2, 2}, Bytes(4), ElementType::f8_e4m3);
  // One scale for each part of a fused matrix says nothing about where the parts end.
  const auto parts = store.floats("s", ElementType::f32, {3}, {1, 2, 3});
  expect_refused(fp8::visit_weights({weight, parts}, {}, test::decode), ErrorCode::invalid_file,
                 {"tensor s", "F32 [3]", "N = 2"});
  const auto integers = store.integers("s", {1});
  expect_refused(fp8::visit_weights({weight, integers}, {}, test::decode), ErrorCode::unsupported,
                 {"I32 [1]"});
}

}
