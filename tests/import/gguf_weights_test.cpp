// SPDX-License-Identifier: Apache-2.0
// GGUF blocks as weights: known values of every type, the same after packing, and stacked matrices.
#include "edgeq/import/gguf_weights.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "edgeq/linear.hpp"

namespace {

using namespace edgeq;
using gguf::TensorType;

/// Blocks whose byte i is (37 i + 11) mod 256, then d = 0.5 and, where the type has it, m = 0.25, both f16.
/// `shift` bytes stand in front, for odd addresses.
std::vector<std::byte> patterned_blocks(TensorType type, std::size_t blocks, std::size_t shift) {
  const std::size_t size = gguf::type_info(type)->block_bytes;
  std::vector<std::byte> bytes(shift + blocks * size);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::byte* block = bytes.data() + shift + b * size;
    for (std::size_t i = 0; i < size; ++i) block[i] = static_cast<std::byte>((37 * i + 11) & 255);
    block[0] = std::byte{0x00};
    block[1] = std::byte{0x38};
    if (type == TensorType::q4_1 || type == TensorType::q5_1) {
      block[2] = std::byte{0x00};
      block[3] = std::byte{0x34};
    }
  }
  return bytes;
}

gguf::Tensor matrix(TensorType type, std::size_t n, std::size_t k, std::span<const std::byte> data) {
  gguf::Tensor tensor{};
  tensor.name = "w";
  tensor.type = type;
  tensor.dims = {k, n, 1, 1};
  tensor.rank = 2;
  tensor.data = data;
  return tensor;
}

struct KnownBlock {
  TensorType type;
  double sum;
  std::map<std::size_t, float> elements;
};

// Worked out from the block layouts by hand and confirmed with ggml's own reader; all values are exact in
// f32.
const std::vector<KnownBlock> known_blocks{
    {TensorType::q4_0, -10.5, {{0, -1.5f}, {1, 1.0f}, {15, -4.0f}, {16, -1.5f}, {31, 0.0f}}},
    {TensorType::q4_1, 130.5, {{0, 7.75f}, {1, 2.25f}, {15, 5.25f}, {16, 4.75f}, {31, 6.25f}}},
    {TensorType::q5_0, 7.5, {{0, 4.5f}, {1, -1.0f}, {15, -6.0f}, {16, 7.0f}, {31, 0.5f}}},
    {TensorType::q5_1, 260.5, {{0, 9.75f}, {1, 12.25f}, {15, 15.25f}, {16, 9.75f}, {31, 2.75f}}},
    {TensorType::q8_0, -88.0, {{0, 42.5f}, {1, 61.0f}, {15, -64.0f}, {16, -45.5f}, {31, -24.0f}}},
};

TEST(GgufWeights, KnownBlocksDecodeExactly) {
  for (const KnownBlock& known : known_blocks)
    for (const std::size_t shift : {0u, 1u}) {
      const auto bytes = patterned_blocks(known.type, 1, shift);
      const auto values = gguf::to_floats(matrix(known.type, 1, 32, std::span(bytes).subspan(shift)));
      ASSERT_TRUE(values) << values.error().message;
      double sum = 0;
      for (const float value : *values) sum += static_cast<double>(value);
      EXPECT_EQ(sum, known.sum) << gguf::type_info(known.type)->name;
      for (const auto& [element, value] : known.elements) EXPECT_EQ((*values)[element], value) << element;
    }
}

TEST(GgufWeights, PackedRowsEqualTheFile) {
  for (const KnownBlock& known : known_blocks) {
    constexpr std::size_t n = 19, k = 96;
    const auto bytes = patterned_blocks(known.type, n * k / 32, 1);
    const gguf::Tensor tensor = matrix(known.type, n, k, std::span(bytes).subspan(1));
    const auto expected = gguf::to_floats(tensor);
    ASSERT_TRUE(expected);
    const auto layer = gguf::visit_weights(tensor, [](const auto& source) -> Result<AnyLinear> {
      using Format = typename std::remove_cvref_t<decltype(source)>::Format;
      return AnyLinear::pack<Format, ActivationList<F32>, IsaList<isa::generic>>(source);
    });
    ASSERT_TRUE(layer) << layer.error().message;
    std::vector<float> row(k);
    for (std::size_t i = 0; i < n; ++i) {
      layer->dequantize_row(i, row.data());
      for (std::size_t j = 0; j < k; ++j)
        ASSERT_EQ(row[j], (*expected)[i * k + j]) << layer->format() << " " << i << " " << j;
    }
  }
}

TEST(GgufWeights, PlainFloatsAtOddAddresses) {
  std::vector<std::byte> bytes(1 + 3 * 4);
  const float values[] = {1.5f, -0.0f, 3.0e-40f};
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  const auto read = gguf::to_floats(matrix(TensorType::f32, 1, 3, std::span(bytes).subspan(1)));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::memcmp(read->data(), values, sizeof(values)), 0);
}

TEST(GgufWeights, ATypeWithoutASourceIsNamed) {
  const auto refused = gguf::to_floats(matrix(TensorType::q6_k, 1, 256, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("tensor w has type Q6_K"), std::string::npos)
      << refused.error().message;
}

TEST(StackedSource, IsTheRowsOfItsPartsInOrder) {
  constexpr std::size_t k = 64;
  const auto bytes = patterned_blocks(TensorType::q8_0, 30 * k / 32, 0);
  const std::size_t row_bytes = k / 32 * 34;
  using Source = gguf::BlockSource<gguf::Q8_0>;
  std::vector<std::byte> marked = bytes;  // every row its own first code
  for (std::size_t n = 0; n < 30; ++n) marked[n * row_bytes + 2] = static_cast<std::byte>(n);
  const auto part = [&](std::size_t first, std::size_t count) {
    return Source{
        matrix(TensorType::q8_0, count, k, std::span(marked).subspan(first * row_bytes, count * row_bytes))};
  };
  const StackedSource<Source> stacked{{part(0, 5), part(5, 18), part(23, 7)}};  // parts end inside panels
  const auto layer = AnyLinear::pack<Source::Format, ActivationList<F32>, IsaList<isa::generic>>(stacked);
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->n(), 30u);
  std::vector<float> row(k);
  for (std::size_t n = 0; n < 30; ++n) {
    layer->dequantize_row(n, row.data());
    EXPECT_EQ(row[0], 0.5f * static_cast<float>(n));
  }
}

TEST(StackedSource, RefusesPartsOfDifferentK) {
  const auto bytes = patterned_blocks(TensorType::q8_0, 4, 0);
  using Source = gguf::BlockSource<gguf::Q8_0>;
  const StackedSource<Source> stacked{{Source{matrix(TensorType::q8_0, 1, 32, std::span(bytes).first(34))},
                                       Source{matrix(TensorType::q8_0, 1, 64, std::span(bytes).first(68))}}};
  const Status status = stacked.validate();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("differ in K"), std::string::npos) << status.error().message;
}

}
