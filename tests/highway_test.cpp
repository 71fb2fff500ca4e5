// SPDX-License-Identifier: Apache-2.0
// Integer activations on every target of Highway that this machine runs: the bits of the generic kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "support/highway_targets.hpp"
#include "support/integer_grid.hpp"

namespace {

using namespace edgeq;
using namespace test_highway;

using IntegerActivations = ActivationList<DynamicInt8, DynamicInt8PerGroup, DynamicInt16,
                                          DynamicInt16PerGroup, DynamicInt8Zero, StaticInt8>;

/// Nine of the difficult rows [9, K]: of all sizes, one zero, one with an outlier, one with NaN, one with
/// Inf.
std::vector<float> nine_rows(std::size_t k) {
  const std::vector<float> all = test::difficult_rows(k, k);
  std::vector<float> x;
  for (const std::size_t row : {0u, 7u, 3u, 5u, 8u, 16u, 11u, 13u, 15u})
    x.insert(x.end(), all.begin() + static_cast<std::ptrdiff_t>(row * k),
             all.begin() + static_cast<std::ptrdiff_t>((row + 1) * k));
  return x;
}

/// The prepared rows of the two layers agree wherever the layout says there is something.
template <class Activation>
void expect_same_prepared(const AnyLinear& highway, const AnyLinear& generic, const std::vector<float>& x) {
  const PanelGeometry& geometry = generic.weight().geometry();
  const PreparedLayout layout = PreparedLayout::of_codes<Activation>(geometry);
  const std::size_t scales = Activation::per_group ? geometry.groups : Activation::has_zero ? 2 : 1;
  const std::size_t used = layout.scales_offset + scales * sizeof(float);
  Prepared found, wanted;
  ASSERT_TRUE(highway.prepare(found, {x.data(), 9, generic.k()}));
  ASSERT_TRUE(generic.prepare(wanted, {x.data(), 9, generic.k()}));
  for (std::size_t row = 0; row < 9; ++row)
    ASSERT_EQ(
        std::memcmp(found.data() + row * layout.row_bytes, wanted.data() + row * layout.row_bytes, used), 0)
        << "prepared row " << row;
}

template <class Activation>
void expect_generic_bits(const std::vector<AnyLinear>& layers, const std::vector<float>& x) {
  std::vector<AnyLinear> kernels;
  for (const AnyLinear& layer : layers) kernels.push_back(only(*layer.with(Activation::name), "highway"));
  const AnyLinear generic = only(*layers.back().with(Activation::name), "generic");
  SCOPED_TRACE(generic.format() + " x " + generic.activation());
  const std::vector<float> expected = test::run_layer(generic, x.data(), 9);
  for_each_target([&] {
    expect_same_prepared<Activation>(kernels.back(), generic, x);
    for (std::size_t i = 0; i < std::size(shapes); ++i) {
      const auto [first, m, n] = shapes[i];
      const std::vector<float> y =
          test::run_layer(kernels[i], x.data() + first * generic.k(), m, test::LastTaskFirst{i % 3 + 1});
      const std::vector<float> part(expected.begin() + static_cast<std::ptrdiff_t>(first * 130),
                                    expected.end());
      test::expect_same(y, m, n, part, 130);
    }
  });
}

template <class F, class... Activations>
void expect_generic_bits(ActivationList<Activations...>) {
  // Groups that divide K and that do not, longer than K, shorter than a line, longer than an accumulation
  // block.
  for (const auto [k, group] :
       {Depth{1, 1}, {7, 3}, {48, 32}, {100, 48}, {100, 128}, {1000, 600}, {1000, 32}}) {
    SCOPED_TRACE("K = " + std::to_string(k) + ", group " + std::to_string(group));
    const test::Weights<F> weights = test::random_weights<F>(130, k, group, k);
    const std::vector<float> x = nine_rows(k), bias = test::random_floats(130, k);
    std::vector<AnyLinear> with_bias, without;
    for (const auto& shape : shapes) {
      with_bias.push_back(pack<F, IntegerActivations>(weights, shape[2], bias));
      without.push_back(pack<F, IntegerActivations>(weights, shape[2], {}));
    }
    // The last layer is the expectation for all, so N = 130.
    with_bias.push_back(pack<F, IntegerActivations>(weights, 130, bias));
    without.push_back(pack<F, IntegerActivations>(weights, 130, {}));
    (expect_generic_bits<Activations>(group % 2 == 0 ? with_bias : without, x), ...);
    if (testing::Test::HasFailure()) return;
  }
}

template <class Codec, class Offset>
void expect_generic_bits_of_scales() {
  expect_generic_bits<GroupQuantized<Codec, Offset, dynamic_group, float>>(IntegerActivations{});
  expect_generic_bits<GroupQuantized<Codec, Offset, dynamic_group, Float16>>(IntegerActivations{});
  expect_generic_bits<GroupQuantized<Codec, Offset, dynamic_group, BFloat16>>(IntegerActivations{});
}

TEST(Highway, IntegerBits4Symmetric) {
  expect_generic_bits_of_scales<codec::Nibble, offset::Symmetric>();
}
TEST(Highway, IntegerBits4Zero) {
  expect_generic_bits_of_scales<codec::Nibble, offset::IntegerZero>();
}
TEST(Highway, IntegerBits4Minimum) {
  expect_generic_bits_of_scales<codec::Nibble, offset::FloatMinimum>();
}
TEST(Highway, IntegerBits8Symmetric) {
  expect_generic_bits_of_scales<codec::Byte, offset::Symmetric>();
}
TEST(Highway, IntegerBits8Zero) {
  expect_generic_bits_of_scales<codec::Byte, offset::IntegerZero>();
}
TEST(Highway, IntegerBits8Minimum) {
  expect_generic_bits_of_scales<codec::Byte, offset::FloatMinimum>();
}
TEST(Highway, IntegerTablesAndSuperBlocks) {
  expect_generic_bits<MxFp4>(IntegerActivations{});
  expect_generic_bits<Iq4Nl<32>>(IntegerActivations{});
  expect_generic_bits<Q4K>(IntegerActivations{});
  expect_generic_bits<Q6K>(IntegerActivations{});
  expect_generic_bits<Int4FloatZero<dynamic_group>>(IntegerActivations{});
}

/// Codes of 255 and x at its limit, of one sign: instructions that add pairs of products in 16 bits saturate.
/// The second sum is the largest that a block can reach, 256 * 255 * 32512 = 2122383360.
TEST(Highway, LargestProductsDoNotSaturate) {
  using F = Int8Zero<dynamic_group, float>;
  test::Weights<F> weights(16, 256, 256);
  weights.set_codes(255);
  weights.set_scales(1.0f);
  const AnyLinear layer = pack<F, IntegerActivations>(weights, 16, {});
  const AnyLinear int8 = only(layer, "highway"), int16 = only(*layer.with("int16"), "highway");
  const std::vector<float> x(256, -127.0f);
  for_each_target([&] {
    for (const float y : test::run_layer(int8, x.data(), 1)) ASSERT_EQ(y, -256.0f * 255.0f * 127.0f);
    for (const float y : test::run_layer(int16, x.data(), 1)) ASSERT_EQ(y, -2122383360.0f / 256.0f);
  });
}

/// y = fma(fma(127, scale, 0), x_scale, bias), each rounded once. With x = 127 (1 + 2^-12), x_scale is 1 +
/// 2^-12; an inner sum of 1 + 2^-12 then makes a product of 1 + 2^-11 + 2^-24, halfway between two floats, so
/// that the sign of a bias too small for a double decides.
TEST(Highway, MultiplyAddRoundsOnce) {
  using F = Int8<per_channel, float>;
  const float x_scale = 1.0f + 0x1p-12f, x = 127.0f * x_scale;
  const float halfway = x_scale / 127.0f;
  ASSERT_EQ(127.0f * halfway, x_scale);
  std::vector<float> scales, biases;
  for (const float scale : {halfway, -halfway, 0.0f, 0x1p-149f, -0x1p-149f, 3 * 0x1p-149f, 0x1.234568p-133f,
                            0x1.8p-127f, 0x1.fffffep121f, 0x1p120f, HUGE_VALF, std::nanf("")})
    for (const float bias : {0.0f, -0.0f, 0x1p-60f, -0x1p-60f, 0x1p-149f, -0x1p-149f, 0x1p-24f, -0x1p-24f,
                             0x1.000002p-24f, -1.0f, -x_scale * x_scale, x_scale * x_scale, 0x1.fffffep127f,
                             -0x1.fffffep127f, 0x1p-126f, -0x1p-126f, HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
      scales.push_back(scale);
      biases.push_back(bias);
    }
  test::Random random(1);
  for (int i = 0; i < 2000; ++i) {  // products and biases of all sizes, many of which nearly cancel
    const float scale = std::ldexp(random.symmetric(), static_cast<int>(random.below(260)) - 149);
    const float product = 127.0f * scale * x_scale;
    scales.push_back(scale);
    biases.push_back(i % 2 == 0
                         ? -std::nextafterf(product, 0.0f)
                         : std::ldexp(random.symmetric() * product, static_cast<int>(random.below(60)) - 50));
  }
  test::Weights<F> weights(scales.size(), 1);
  weights.set_codes(129);
  weights.scales = scales;
  std::vector<float> expected;
  for (std::size_t n = 0; n < scales.size(); ++n)
    expected.push_back(std::fma(std::fma(127.0f, scales[n], 0.0f), x_scale, biases[n]));
  const AnyLinear layer =
      only(pack<F, ActivationList<DynamicInt8>>(weights, scales.size(), biases), "highway");
  for_each_target([&] { test::expect_same(test::run_layer(layer, &x, 1), expected); });
}

}
