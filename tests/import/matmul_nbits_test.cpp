// SPDX-License-Identifier: Apache-2.0
// Weights of MatMulNBits: strides of whole blobs, integer and float zero points, every width, g_idx.
#include "edgeq/import/matmul_nbits.hpp"

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
using matmul_nbits::Parameters;
using Bytes = std::vector<std::uint8_t>;

/// K = 40 in two blocks of 32, N = 1; code k mod 16, the padding all ones.
Bytes ascending_codes() {
  Bytes bytes;
  for (std::size_t k = 0; k < 40; k += 2)
    bytes.push_back(static_cast<std::uint8_t>(k % 16 | (k + 1) % 16 << 4));
  bytes.resize(32, 0xFF);
  return bytes;
}

TEST(MatMulNBits, KnownBlocksWithPackedZeroPoints) {
  TensorStore store;
  const auto b = store.bytes("b", {1, 2, 16}, ascending_codes());
  const auto scales = store.floats("scales", ElementType::f32, {2}, {1, 2});
  const auto zero_points = store.bytes("zero_points", {1}, {0x38});
  const auto w =
      expect_decoded(matmul_nbits::visit_weights({b, scales, zero_points}, {1, 40, 4, 32}, decode));
  EXPECT_EQ(w.format, "int4 zero g* f32");
  EXPECT_EQ(w(0, 0), -8.0f);
  EXPECT_EQ(w(0, 31), 7.0f);
  EXPECT_EQ(w(0, 32), -6.0f);
  EXPECT_EQ(w(0, 39), 8.0f);
}

TEST(MatMulNBits, RowsAreWholeBlobsApart) {
  TensorStore store;
  Bytes bytes(20, 0x99);
  bytes.resize(32, 0xFF);
  bytes.resize(52, 0x77);
  bytes.resize(64, 0xFF);
  const auto b = store.bytes("b", {2, 2, 16}, bytes);
  const auto scales = store.floats("scales", ElementType::f16, {2, 2}, {1, 1, 1, 1});
  const auto w = expect_decoded(matmul_nbits::visit_weights({b, scales}, {2, 40, 4, 32}, decode));
  EXPECT_EQ(w.format, "int4 sym g* f16");
  float sums[2] = {0, 0};
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t k = 0; k < 40; ++k) sums[n] += w(n, k);
  EXPECT_EQ(sums[0], 40.0f);
  EXPECT_EQ(sums[1], -40.0f);
}

// Codes and zero points as one stream of bits in each row, made here bit by bit.
TEST(MatMulNBits, EveryWidthIsADenseStream) {
  for (int bits = 2; bits <= 8; ++bits) {
    const std::size_t n = 3, k = 50, block = 16, groups = 4, width = static_cast<std::size_t>(bits);
    const std::size_t stride = groups * block * width / 8, zero_stride = (groups * width + 7) / 8;
    const auto put = [&](Bytes& bytes, std::size_t first, std::size_t value) {
      for (std::size_t i = 0; i < width; ++i)
        bytes[(first + i) / 8] |= static_cast<std::uint8_t>((value >> i & 1) << (first + i) % 8);
    };
    const std::size_t mask = (std::size_t{1} << bits) - 1;
    const auto code = [&](std::size_t row, std::size_t i) { return (row * 7 + i * 5 + 1) & mask; };
    const auto zero = [&](std::size_t row, std::size_t g) { return (row * 3 + g + mask / 2) & mask; };
    Bytes codes(n * stride), zeros(n * zero_stride);
    for (std::size_t row = 0; row < n; ++row) {
      for (std::size_t i = 0; i < k; ++i) put(codes, row * stride * 8 + i * width, code(row, i));
      for (std::size_t g = 0; g < groups; ++g) put(zeros, row * zero_stride * 8 + g * width, zero(row, g));
    }
    TensorStore store;
    const auto b = store.bytes("b", {n, groups, block * width / 8}, codes);
    const auto scales =
        store.floats("scales", ElementType::f32, {n * groups}, std::vector<float>(n * groups, 0.5f));
    const auto zero_points = store.bytes("zero_points", {zeros.size()}, zeros);
    const auto with =
        expect_decoded(matmul_nbits::visit_weights({b, scales, zero_points}, {n, k, bits, block}, decode));
    const auto without =
        expect_decoded(matmul_nbits::visit_weights({b, scales}, {n, k, bits, block}, decode));
    EXPECT_EQ(without.format, bits <= 4 ? "int4 sym g* f32" : "int8 sym g* f32");
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t i = 0; i < k; ++i) {
        const auto c = static_cast<float>(code(row, i)), z = static_cast<float>(zero(row, i / block));
        EXPECT_EQ(with(row, i), 0.5f * (c - z)) << bits << " bits, " << row << ", " << i;
        EXPECT_EQ(without(row, i), 0.5f * (c - static_cast<float>(1 << (bits - 1))));
      }
  }
}

Result<Decoded> with_float_zero(float scale, float zero, ElementType type = ElementType::f32) {
  TensorStore store;
  Bytes codes(8, 0x31);
  const auto b = store.bytes("b", {1, 1, 8}, codes);
  const auto scales = store.floats("scales", type, {1}, {scale});
  const auto zero_points = store.floats("zero_points", type, {1}, {zero});
  return matmul_nbits::visit_weights({b, scales, zero_points}, {1, 16, 4, 16}, decode);
}

TEST(MatMulNBits, FloatZeroPointsThatAreIntegersAreIntegerZeros) {
  EXPECT_EQ(expect_decoded(with_float_zero(0.3f, 8)).format, "int4 sym g* f32");
  const Decoded w = expect_decoded(with_float_zero(0.3f, 5));
  EXPECT_EQ(w.format, "int4 zero g* f32");
  EXPECT_EQ(w(0, 0), 0.3f * -4.0f);
  EXPECT_EQ(w(0, 1), 0.3f * -2.0f);
  EXPECT_EQ(expect_decoded(with_float_zero(0.5f, 200, ElementType::f16))(0, 0), -99.5f);
}

TEST(MatMulNBits, OtherFloatZeroPointsStayFloatsIfExact) {
  const Decoded w = expect_decoded(with_float_zero(0.5f, 7.25f, ElementType::bf16));
  EXPECT_EQ(w.format, std::string("int4 ") + offset::FloatZero::name + " g* bf16");
  EXPECT_EQ(w(0, 0), 0.5f * (1 - 7.25f));
  EXPECT_EQ(w(0, 1), 0.5f * (3 - 7.25f));
  EXPECT_EQ(expect_decoded(with_float_zero(2.0f, -3.0f))(0, 1), 12.0f);
  // 129 / 128 * 3 / 4 has 9 bits.
  expect_refused(with_float_zero(1.0078125f, 7.25f, ElementType::bf16), ErrorCode::unsupported,
                 {"not exact"});
  EXPECT_TRUE(with_float_zero(1.0078125f, 7.25f, ElementType::f16));
  for (const float zero : {1e-30f, 0.1f, std::numeric_limits<float>::quiet_NaN()})
    expect_refused(with_float_zero(0.3f, zero), ErrorCode::unsupported, {"zero_points", "n = 0, block 0"});
}

TEST(MatMulNBits, AHostThatFlushesSubnormalsChangesNoZero) {
  const ::test::HostState host(true, false);
  expect_refused(with_float_zero(1.0f, 0x1p-140f), ErrorCode::unsupported, {"zero_points", "not exact"});
}

TEST(MatMulNBits, GroupIndexIsNaturalOrAnOrder) {
  TensorStore store;
  Bytes bytes(2 * 8, 0x99);
  const auto b = store.bytes("b", {1, 2, 8}, bytes);
  const auto scales = store.floats("scales", ElementType::f32, {1, 2}, {1, 2});
  std::vector<std::int32_t> natural, alternating;
  for (int k = 0; k < 32; ++k) {
    natural.push_back(k / 16);
    alternating.push_back(k % 2);
  }
  const auto read = [&](const std::vector<std::int32_t>& g_idx, std::size_t k) {
    return matmul_nbits::visit_weights({b, scales, {}, store.integers("g_idx", g_idx)}, {1, k, 4, 16},
                                       decode);
  };
  EXPECT_TRUE(expect_decoded(read(natural, 32)).order.empty());
  EXPECT_TRUE(expect_decoded(read(natural, 20)).order.empty()) << "of all places of the blocks";
  const auto w = expect_decoded(read(alternating, 32));
  for (std::size_t k = 0; k < 32; ++k) EXPECT_EQ(w(0, k), k % 2 == 0 ? 1.0f : 2.0f);
  alternating.pop_back();
  expect_refused(read(alternating, 32), ErrorCode::invalid_file, {"tensor g_idx", "I32 [31]", "[32]"});
}

TEST(MatMulNBits, SizesThatDoNotFollowFromTheAttributesAreRefused) {
  TensorStore store;
  const auto b = store.bytes("b", {1, 2, 16}, ascending_codes());
  const auto scales = store.floats("scales", ElementType::f32, {2}, {1, 2});
  const auto read = [&](const matmul_nbits::Tensors& t, const Parameters& p) {
    return matmul_nbits::visit_weights(t, p, decode);
  };
  expect_refused(read({b, scales}, {1, 40, 4, 16}), ErrorCode::invalid_file,
                 {"tensor b", "U8 [1, 2, 16]", "24 elements"});
  expect_refused(read({b, store.floats("scales", ElementType::f32, {1}, {1})}, {1, 40, 4, 32}),
                 ErrorCode::invalid_file, {"tensor scales", "F32 [1]", "2 elements"});
  expect_refused(read({b, scales, store.bytes("zero_points", {2}, {1, 2})}, {1, 40, 4, 32}),
                 ErrorCode::invalid_file, {"tensor zero_points", "U8 [2]", "1 elements"});
  expect_refused(read({b, scales, store.integers("zero_points", {1, 2})}, {1, 40, 4, 32}),
                 ErrorCode::unsupported, {"tensor zero_points", "I32 [2]"});
  for (const Parameters& p : {Parameters{1, 40, 1, 32}, Parameters{1, 40, 9, 32}, Parameters{1, 40, 4, 8},
                              Parameters{1, 40, 4, 48}, Parameters{1, 40, 4, 0}})
    expect_refused(read({b, scales}, p), ErrorCode::invalid_argument, {"tensor b", "powers of two"});
  expect_refused(read({b, scales}, {SIZE_MAX, SIZE_MAX, 4, 32}), ErrorCode::too_large, {"tensor b"});
}

}
