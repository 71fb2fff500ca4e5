// SPDX-License-Identifier: Apache-2.0
// GGUF blocks as weights: known values of every type, the same after packing, and stacked matrices.
#include "edgeq/import/gguf_weights.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgeq/linear.hpp"
#include "import/known_blocks.hpp"
#include "reference/dequantize.hpp"

namespace {

using namespace edgeq;
using gguf::TensorType;

using edgeq::test::KnownBlock;
using edgeq::test::matrix;
using edgeq::test::patterned_blocks;

class GgufBlocks : public testing::TestWithParam<KnownBlock> {};

TEST_P(GgufBlocks, KnownBlockDecodesExactly) {
  const KnownBlock& known = GetParam();
  for (const std::size_t shift : {0u, 1u}) {
    const auto bytes = patterned_blocks(known, 1, shift);
    const auto values = gguf::to_floats(matrix(known.type, 1, known.size(), std::span(bytes).subspan(shift)));
    ASSERT_TRUE(values) << values.error().message;
    double sum = 0;
    for (const float value : *values) sum += static_cast<double>(value);
    EXPECT_EQ(sum, known.sum);
    for (const auto& [element, value] : known.elements) EXPECT_EQ((*values)[element], value) << element;
  }
}

TEST_P(GgufBlocks, ManyRowsOfBlocksEqualTheReference) {
  const KnownBlock& known = GetParam();
  const std::size_t n = 19, k = 3 * known.size();
  const auto bytes = patterned_blocks(known, n * 3, 1);
  const gguf::Tensor tensor = matrix(known.type, n, k, std::span(bytes).subspan(1));
  const auto values = gguf::to_floats(tensor);
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, reference::dequantize(tensor));
}

TEST_P(GgufBlocks, PackedRowsEqualTheFile) {
  const KnownBlock& known = GetParam();
  const std::size_t n = 19, k = 3 * known.size();
  const auto bytes = patterned_blocks(known, n * 3, 1);
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

INSTANTIATE_TEST_SUITE_P(Types, GgufBlocks, testing::ValuesIn(edgeq::test::known_blocks),
                         [](const auto& tested) {
                           return std::string(gguf::type_info(tested.param.type)->name);
                         });

TEST(GgufWeights, PlainFloatsAtOddAddresses) {
  std::vector<std::byte> bytes(1 + 3 * 4);
  const float values[] = {1.5f, -0.0f, 3.0e-40f};
  copy_little_endian<float>(bytes.data() + 1, values, 3);
  const auto read = gguf::to_floats(matrix(TensorType::f32, 1, 3, std::span(bytes).subspan(1)));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::memcmp(read->data(), values, sizeof(values)), 0);
}

TEST(GgufWeights, ATypeWithoutASourceIsNamed) {
  const auto refused = gguf::to_floats(matrix(TensorType::iq2_xxs, 1, 256, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("tensor w has type IQ2_XXS"), std::string::npos)
      << refused.error().message;
}

TEST(StackedSource, IsTheRowsOfItsPartsInOrder) {
  constexpr std::size_t k = 64;
  const std::size_t row_bytes = k / 32 * 34;
  using Source = gguf::BlockSource<gguf::Q8_0>;
  std::vector<std::byte> marked(30 * row_bytes);  // every row its own first code, under the scale 0.5
  for (std::size_t n = 0; n < 30; ++n) {
    marked[n * row_bytes + 1] = std::byte{0x38};
    marked[n * row_bytes + 2] = static_cast<std::byte>(n);
  }
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
  const std::vector<std::byte> bytes(3 * 34);
  using Source = gguf::BlockSource<gguf::Q8_0>;
  const StackedSource<Source> stacked{{Source{matrix(TensorType::q8_0, 1, 32, std::span(bytes).first(34))},
                                       Source{matrix(TensorType::q8_0, 1, 64, std::span(bytes).first(68))}}};
  const Status status = stacked.validate();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("differ in K"), std::string::npos) << status.error().message;
}

}
