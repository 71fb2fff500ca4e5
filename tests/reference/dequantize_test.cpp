// SPDX-License-Identifier: Apache-2.0
// The reference's dequantization against values that ggml computes for the same blocks.
#include "reference/dequantize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "import/known_blocks.hpp"

namespace {

using edgeq::gguf::TensorType;
using reference::dequantize;
using reference::from_f16;

edgeq::gguf::Tensor tensor_of(TensorType type, std::size_t columns, const std::vector<std::byte>& bytes) {
  return {.name = "w", .type = type, .dims = {columns, 1, 1, 1}, .rank = 2, .data = bytes};
}

TEST(ReferenceDequantize, BlocksHaveTheValuesOfGgml) {
  for (const edgeq::test::KnownBlock& known : edgeq::test::known_blocks) {
    const auto* info = edgeq::gguf::type_info(known.type);
    SCOPED_TRACE(std::string(info->name));
    // Behind another block, whose bytes are 0, so that the second one must be found.
    const auto block = edgeq::test::patterned_blocks(known, 1);
    std::vector<std::byte> bytes(info->block_bytes);
    bytes.insert(bytes.end(), block.begin(), block.end());

    const std::size_t size = known.size();
    const auto values = dequantize(tensor_of(known.type, 2 * size, bytes));
    ASSERT_EQ(values.size(), 2 * size);
    const auto second = values.begin() + static_cast<std::ptrdiff_t>(size);
    EXPECT_EQ(std::count(values.begin(), second, 0.0f), static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(std::accumulate(second, values.end(), 0.0), known.sum);
    for (const auto& [e, value] : known.elements) EXPECT_EQ(values[size + e], value) << "element " << e;
  }
}

// 15 * (1 + 2^-10) + 2^-24 has 28 bits, a float 24.
TEST(ReferenceDequantize, OnlyTheSumWithTheMinimumIsRounded) {
  std::vector<std::byte> block(20);
  block[0] = std::byte{0x01}, block[1] = std::byte{0x3C};  // 1 + 2^-10
  block[2] = std::byte{0x01};                              // 2^-24
  block[4] = std::byte{0x0F};
  EXPECT_EQ(reference::element(TensorType::q4_1, block.data(), 0), 15 * (1 + 0x1p-10) + 0x1p-24);
  EXPECT_EQ(dequantize(tensor_of(TensorType::q4_1, 32, block))[0], 15 * (1 + 0x1p-10f));
}

TEST(ReferenceDequantize, ReadsPlainFloats) {
  const std::vector<std::byte> bytes = {std::byte{0x00}, std::byte{0x00}, std::byte{0x28}, std::byte{0xC0}};
  EXPECT_EQ(dequantize(tensor_of(TensorType::f32, 1, bytes)), std::vector<float>{-2.625f});
  EXPECT_EQ(dequantize(tensor_of(TensorType::f16, 2, bytes)), (std::vector<float>{0.0f, -2.078125f}));
  EXPECT_EQ(dequantize(tensor_of(TensorType::bf16, 2, bytes)), (std::vector<float>{0.0f, -2.625f}));
}

TEST(ReferenceDequantize, ReadsTheEdgesOfBinary16) {
  EXPECT_EQ(from_f16(0x0001), 0x1p-24);
  EXPECT_EQ(from_f16(0x83FF), -0x3FFp-24);
  EXPECT_EQ(from_f16(0x0400), 0x1p-14);
  EXPECT_EQ(from_f16(0x7BFF), 65504.0);
  EXPECT_EQ(from_f16(0xFC00), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(from_f16(0x7C01)));
}

TEST(ReferenceDequantize, RefusesOtherTypes) {
  const std::vector<std::byte> block(66);
  EXPECT_THROW(dequantize(tensor_of(TensorType::iq2_xxs, 256, block)), std::runtime_error);
}

}
