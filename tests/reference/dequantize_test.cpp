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
#include <utility>
#include <vector>

namespace {

using edgeq::gguf::TensorType;
using reference::dequantize;
using reference::from_f16;

edgeq::gguf::Tensor tensor_of(TensorType type, std::size_t columns, const std::vector<std::byte>& bytes) {
  return {.name = "w", .type = type, .dims = {columns, 1, 1, 1}, .rank = 2, .data = bytes};
}

// Block bytes 37 * i + 11, then the scale 0.5 in the first field and, where there is one, the minimum 0.25 in
// the second: every value is exact. Sums and elements were made with ggml's own dequantize_row functions.
struct BlockCase {
  TensorType type;
  bool has_minimum;
  float sum;
  std::vector<std::pair<std::size_t, float>> elements;
};

TEST(ReferenceDequantize, BlocksHaveTheValuesOfGgml) {
  const std::vector<BlockCase> cases = {
      {TensorType::q4_0, false, -10.5f, {{0, -1.5f}, {1, 1.0f}, {15, -4.0f}, {16, -1.5f}, {31, 0.0f}}},
      {TensorType::q4_1, true, 130.5f, {{0, 7.75f}, {1, 2.25f}, {15, 5.25f}, {16, 4.75f}, {31, 6.25f}}},
      {TensorType::q5_0, false, 7.5f, {{0, 4.5f}, {1, -1.0f}, {15, -6.0f}, {16, 7.0f}, {31, 0.5f}}},
      {TensorType::q5_1, true, 260.5f, {{0, 9.75f}, {1, 12.25f}, {15, 15.25f}, {16, 9.75f}, {31, 2.75f}}},
      {TensorType::q8_0, false, -88.0f, {{0, 42.5f}, {1, 61.0f}, {15, -64.0f}, {16, -45.5f}, {31, -24.0f}}},
  };
  for (const BlockCase& block_case : cases) {
    const auto* info = edgeq::gguf::type_info(block_case.type);
    SCOPED_TRACE(std::string(info->name));
    std::vector<std::byte> block(info->block_bytes);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(37 * i + 11);
    block[0] = std::byte{0x00}, block[1] = std::byte{0x38};
    if (block_case.has_minimum) block[2] = std::byte{0x00}, block[3] = std::byte{0x34};
    // Behind another block, whose scale is 0, so that the second one must be found.
    std::vector<std::byte> bytes(info->block_bytes);
    bytes.insert(bytes.end(), block.begin(), block.end());

    const auto values = dequantize(tensor_of(block_case.type, 64, bytes));
    ASSERT_EQ(values.size(), 64u);
    EXPECT_EQ(std::count(values.begin(), values.begin() + 32, 0.0f), 32);
    EXPECT_EQ(std::accumulate(values.begin() + 32, values.end(), 0.0f), block_case.sum);
    for (const auto& [e, value] : block_case.elements) EXPECT_EQ(values[32 + e], value) << "element " << e;
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
  const std::vector<std::byte> block(144);
  EXPECT_THROW(dequantize(tensor_of(TensorType::q4_k, 256, block)), std::runtime_error);
}

}
