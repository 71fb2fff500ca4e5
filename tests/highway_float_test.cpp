// SPDX-License-Identifier: Apache-2.0
// Float activations on every target of Highway that this machine runs: the documented bounds, every pattern
// of the small float types, and y of each type.
#include <gtest/gtest.h>

#include "support/highway_targets.hpp"

namespace {

using namespace edgeq;
using namespace test_highway;

/// The documented bounds, with the bias as one more term: (K + 4) * 2^-23 * sum |x| |w|, of Bf16 K + 8.
template <class F, class A>
void expect_bound() {
  constexpr std::size_t more = std::is_same_v<A, F32> ? 4 : 8;
  for (const Depth& depth : {Depth{1, 1}, {7, 3}, {100, 48}, {1000, 600}}) {
    const std::size_t k = depth.k, group = depth.group;
    SCOPED_TRACE("K = " + std::to_string(k) + ", group " + std::to_string(group));
    const test::Weights<F> weights = test::random_weights<F>(130, k, group, k);
    const std::vector<float> bias = test::random_floats(130, k), x = test::random_floats(9 * k, k + 1);
    std::vector<AnyLinear> layers;
    for (const auto& shape : shapes)
      layers.push_back(only(pack<F, ActivationList<A>>(weights, shape[2], bias), "highway"));
    const std::vector<test::FloatReference> reference = test::float_model<F, A>(weights, x, 9, bias);
    for_each_target([&] {
      for (std::size_t i = 0; i < std::size(shapes); ++i) {
        const auto [first, m, n] = shapes[i];
        const std::vector<float> y =
            test::run_layer(layers[i], x.data() + first * k, m, test::LastTaskFirst{i % 3 + 1});
        for (std::size_t row = 0; row < m; ++row)
          for (std::size_t column = 0; column < n; ++column) {
            const test::FloatReference& r = reference[(first + row) * 130 + column];
            ASSERT_LE(std::fabs(y[row * n + column] - r.value),
                      static_cast<double>(k + more) * 0x1p-23 * r.magnitude)
                << layers[i].format() << ", y[" << row << ", " << column << "] of [" << m << ", " << n << "]";
          }
      }
    });
    if (testing::Test::HasFailure()) return;
  }
}

template <class F>
void expect_float_bound() {
  expect_bound<F, F32>();
  expect_bound<F, Bf16>();
}
template <class Codec, class Offset>
void expect_float_bound_of_scales() {
  expect_float_bound<GroupQuantized<Codec, Offset, dynamic_group, float>>();
  expect_float_bound<GroupQuantized<Codec, Offset, dynamic_group, Float16>>();
  expect_float_bound<GroupQuantized<Codec, Offset, dynamic_group, BFloat16>>();
}

TEST(Highway, FloatBound4Symmetric) {
  expect_float_bound_of_scales<codec::Nibble, offset::Symmetric>();
}
TEST(Highway, FloatBound4Zero) {
  expect_float_bound_of_scales<codec::Nibble, offset::IntegerZero>();
}
TEST(Highway, FloatBound4Minimum) {
  expect_float_bound_of_scales<codec::Nibble, offset::FloatMinimum>();
}
TEST(Highway, FloatBound8Symmetric) {
  expect_float_bound_of_scales<codec::Byte, offset::Symmetric>();
}
TEST(Highway, FloatBound8Zero) {
  expect_float_bound_of_scales<codec::Byte, offset::IntegerZero>();
}
TEST(Highway, FloatBound8Minimum) {
  expect_float_bound_of_scales<codec::Byte, offset::FloatMinimum>();
}
TEST(Highway, FloatBoundTablesAndSuperBlocks) {
  expect_float_bound<MxFp4>();
  expect_float_bound<Fp4<16>>();
  expect_float_bound<Nf4<64>>();
  expect_float_bound<Q4K>();
  expect_float_bound<Q6K>();
  expect_float_bound<Int4FloatZero<dynamic_group>>();
}
TEST(Highway, FloatBoundFp8) {
  expect_float_bound<Fp8Block<16, dynamic_group>>();
  expect_float_bound<Fp8Channel<Float8E5M2>>();
}
TEST(Highway, FloatBoundUnquantized) {
  expect_float_bound<F32Weight>();
  expect_float_bound<F16Weight>();
  expect_float_bound<Bf16Weight>();
}

/// Every pattern is multiplied by 1: y is its float, infinities, NaN and subnormals included, and where y has
/// 16 bits it is that float rounded.
template <class F>
void expect_all_values(const test::Weights<F>& weights) {
  std::vector<float> expected;
  for (std::size_t n = 0; n < weights.n; ++n)
    expected.push_back(weights.value(n, 0) + 0.0f);  // a sum that starts at 0 has no -0
  const AnyLinear layer = only(pack<F, ActivationList<F32>>(weights, weights.n, {}), "highway");
  const float one = 1.0f;
  const auto expect_rounded = [&]<class T>(T) {
    const auto y = test::run_layer_as<T>(layer, MatrixView<const float>(&one, 1, 1));
    for (std::size_t n = 0; n < y.size(); ++n)
      ASSERT_TRUE(test::equal_or_nan(test::value_of(y[n]), test::nearest_value<T>(expected[n])))
          << "pattern " << n;
  };
  for_each_target([&] {
    test::expect_same(test::run_layer(layer, &one, 1), expected);
    expect_rounded(BFloat16{});
    expect_rounded(Float16{});
  });
}

template <class T>
void expect_all_halves() {
  test::Weights<FloatWeight<T>> weights(0x10000, 1);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    weights.values[bits] = T{static_cast<std::uint16_t>(bits)};
  expect_all_values(weights);
}
TEST(Highway, EveryHalfAndBfloat16) {
  expect_all_halves<Float16>();
  expect_all_halves<BFloat16>();
}

template <class Element>
void expect_all_codes() {
  test::Weights<Fp8Channel<Element>> weights(256, 1);
  for (std::size_t n = 0; n < 256; ++n) weights.codes[n] = static_cast<std::uint8_t>(n);
  for (const float scale : {1.0f, 0.3f, -0x1p-130f}) {
    weights.scales.assign(256, scale);
    expect_all_values(weights);
  }
}
TEST(Highway, EveryFloat8) {
  expect_all_codes<Float8E4M3>();
  expect_all_codes<Float8E5M2>();
}

}
