// SPDX-License-Identifier: Apache-2.0
// FP8 weights with a scale per block, channel or matrix: every code is read exactly, sums stay within the
// bound, slices and stacks give the rows of the whole, and contradictions are refused.
#include <gtest/gtest.h>

#include "edgeq/format/stacked_source.hpp"
#include "support/float_grid.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;
using test::run_layer;

using Dynamic = Fp8Block<dynamic_group, dynamic_group>;

template <class F>
class Fp8 : public testing::Test {};
using Formats = testing::Types<Fp8Block<>, Fp8Block<16, 32>, Fp8Block<7, 5, Float8E5M2>, Dynamic,
                               Fp8Channel<>, Fp8Tensor<Float8E5M2>, Fp8Block<128, 128, Float8E5M2>>;
TYPED_TEST_SUITE(Fp8, Formats, );

TYPED_TEST(Fp8, StaysWithinTheBound) {
  test::expect_within_bound<TypeParam, F32>(24, {1, 31, 77, 257, 1291}, {1, 2, 3, 4, 5, 9, 33, 130});
  test::expect_within_bound<TypeParam, Bf16>(24, {1, 31, 77, 257, 1291}, {1, 2, 3, 4, 5, 9, 33, 130});
}

// N and K that are no multiple of the block, with one scale for each block beyond the first.
TYPED_TEST(Fp8, ReadsSingleWeightsExactly) {
  const auto weights = test::random_weights<TypeParam>(130, 141, 24, 3);
  test::expect_single_weights_exact<TypeParam, F32>(weights);
  test::expect_single_weights_exact<TypeParam, Bf16>(weights);
}

// All 256 codes, one to a column, at K = 1: infinities and NaN as well. Scales of powers of two and others.
template <class Element, class A>
void expect_every_code() {
  using F = Fp8Channel<Element>;
  test::Weights<F> weights(256, 1);
  for (std::size_t n = 0; n < 256; ++n) weights.codes[n] = static_cast<std::uint8_t>(n);
  for (const float scale : {1.0f, -0x1p-9f, 0.3f, 0x1p-130f, 0x1p120f}) {
    weights.scales.assign(256, scale);
    const float one = 1.0f;
    for_each_kernel(test::pack<F, A>(weights.view()), [&](const AnyLinear& kernel, const char*) {
      const auto y = run_layer(kernel, &one, 1);
      for (std::size_t n = 0; n < 256; ++n) {
        const float expected = weights.value(n, 0) + 0.0f;  // a sum that starts at 0 has no -0
        ASSERT_TRUE(test::same(y[n], expected)) << "code " << n << ": " << y[n] << ", not " << expected;
      }
    });
  }
}
TEST(Fp8Code, EveryOneIsReadExactly) {
  expect_every_code<Float8E4M3, F32>();
  expect_every_code<Float8E4M3, Bf16>();
  expect_every_code<Float8E5M2, F32>();
  expect_every_code<Float8E5M2, Bf16>();
}

// One code of column `bad` becomes NaN or infinite: the column is not finite in any row, the others are what
// they were. An infinite weight gives the infinity of x's sign.
template <class F, class A>
void expect_bad_code_alone(std::initializer_list<std::uint8_t> codes) {
  constexpr std::size_t m = 5, n = 37, k = 77;
  auto clean_weights = test::random_weights<F>(n, k, 0, 1);
  clean_weights.scales.assign(clean_weights.scales.size(), 0.5f);
  const auto x = test::random_floats(m * k, 2);
  const AnyLinear clean_layer = test::pack<F, A>(clean_weights.view());
  for (const std::uint8_t code : codes)
    for (const std::size_t bad : {0u, 15u, 16u, 36u})
      for (const std::size_t at : {0u, 31u, 76u}) {
        auto weights = clean_weights;
        weights.codes[bad * k + at] = code;
        const double value = test::value_of(typename F::Element{code});
        for_each_kernel(test::pack<F, A>(weights.view()), [&](const AnyLinear& kernel, const char* name) {
          const auto y = run_layer(kernel, x.data(), m),
                     clean = run_layer(*clean_layer.only(name), x.data(), m);
          for (std::size_t i = 0; i < y.size(); ++i)
            if (i % n != bad)
              ASSERT_TRUE(test::same(y[i], clean[i])) << "column " << i % n << " for a code in " << bad;
            else if (std::isnan(value))
              ASSERT_TRUE(std::isnan(y[i])) << "row " << i / n << ", code " << int{code};
            else
              ASSERT_EQ(y[i], static_cast<float>(value) * x[i / n * k + at]) << "row " << i / n;
        });
      }
}
TEST(Fp8Code, WhatIsNotFiniteReachesItsColumnOnly) {
  expect_bad_code_alone<Fp8Block<16, 32>, F32>({0x7F, 0xFF});
  expect_bad_code_alone<Fp8Block<16, 32>, Bf16>({0x7F, 0xFF});
  expect_bad_code_alone<Fp8Channel<Float8E5M2>, F32>({0x7C, 0xFC, 0x7D, 0x7F, 0xFE});
  expect_bad_code_alone<Fp8Channel<Float8E5M2>, Bf16>({0x7C, 0xFC, 0x7D, 0x7F, 0xFE});
}

// A scale that is not finite reaches the rows of its block, in no other.
TEST(Fp8Scale, WhatIsNotFiniteReachesItsBlockOnly) {
  using F = Fp8Block<7, 5>;
  constexpr std::size_t m = 3, n = 37, k = 18;
  const auto clean_weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2);
  for (const float scale : {std::nanf(""), HUGE_VALF, -HUGE_VALF})
    for (const std::size_t block : {0u, 2u, 5u}) {
      auto weights = clean_weights;
      // All weights of the block are numbers other than 0, whose product with infinity would be NaN.
      for (std::size_t row = block * 7; row < std::min(n, block * 7 + 7); ++row)
        for (std::size_t i = 0; i < k; ++i) weights.codes[row * k + i] = 0x38;
      weights.scales[block * weights.groups + 3] = scale;
      for_each_kernel(test::pack<F, F32>(weights.view()), [&](const AnyLinear& kernel, const char*) {
        const auto y = run_layer(kernel, x.data(), m);
        for (std::size_t i = 0; i < y.size(); ++i)
          EXPECT_EQ(std::isfinite(y[i]), i % n / 7 != block) << "y[" << i / n << ", " << i % n << "]";
      });
    }
}

// The shape of a key-value projection: 7168 deep, in blocks of 128 x 128 of which the last is half full.
template <class A>
void expect_deep_layer_within_bound() {
  using F = Fp8Block<>;
  constexpr std::size_t m = 3, n = 576, k = 7168;
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2), bias = test::random_floats(n, 3);
  const auto exact = test::float_model<F, A>(weights, x, m, bias);
  for_each_kernel(test::pack<F, A>(weights.view(), bias), [&](const AnyLinear& kernel, const char*) {
    for (const std::size_t rows : {1u, 3u})
      test::expect_within_bound<A>(run_layer(kernel, x.data(), rows), n, k, exact);
  });
}
TEST(Fp8Deep, StaysWithinTheBound) {
  expect_deep_layer_within_bound<F32>();
  expect_deep_layer_within_bound<Bf16>();
}

// Rows of a matrix by themselves, and all of them as slices on top of one another, have the bits of the
// whole.
template <class F, class A>
void expect_slices_of_the_whole() {
  constexpr std::size_t m = 5, n = 130, k = 77;
  const auto weights = test::random_weights<F>(n, k, 24, 1);
  const auto x = test::random_floats(m * k, 2);
  const AnyLinear whole = test::pack<F, A>(weights.view());
  for_each_kernel(whole, [&](const AnyLinear& kernel, const char* name) {
    const auto expected = run_layer(kernel, x.data(), m);
    std::set<float> different(expected.begin(), expected.end());
    ASSERT_GT(different.size(), expected.size() / 2)
        << "rows are alike: a slice could not be told from another";
    for (const auto& [first, rows] : {std::pair<std::size_t, std::size_t>{0, 130},
                                      {0, 1},
                                      {1, 20},
                                      {6, 2},
                                      {64, 66},
                                      {127, 2},
                                      {129, 1}}) {
      const AnyLinear slice = *test::pack<F, A>(weights.view(first, rows)).only(name);
      const auto y = run_layer(slice, x.data(), m);
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(test::same(y[i], expected[i / rows * n + first + i % rows]))
            << "row " << first + i % rows << " of W, in a slice from " << first;
    }
    const StackedSource<typename F::View> stack{{weights.view(0, 5), weights.view(5, 28), weights.view(33, 1),
                                                 weights.view(34, 0), weights.view(34, 96)}};
    const auto stacked = AnyLinear::pack<F, ActivationList<A>>(stack);
    ASSERT_TRUE(stacked) << stacked.error().message;
    test::expect_same(run_layer(*stacked->only(name), x.data(), m), expected);
  });
}
TEST(Fp8Slice, IsThatOfTheWhole) {
  expect_slices_of_the_whole<Fp8Block<>, F32>();
  expect_slices_of_the_whole<Fp8Block<16, 32>, Bf16>();
  expect_slices_of_the_whole<Fp8Block<7, 5, Float8E5M2>, F32>();
  expect_slices_of_the_whole<Dynamic, Bf16>();
  expect_slices_of_the_whole<Fp8Channel<>, F32>();
  expect_slices_of_the_whole<Fp8Tensor<>, Bf16>();
}

// Weights of 0 of either sign, and scales of 0: y is exactly the bias, or 0.
TEST(Fp8Zero, GivesExactlyTheBias) {
  using F = Fp8Block<16, 32>;
  constexpr std::size_t m = 3, n = 37, k = 77;
  auto zero_codes = test::random_weights<F>(n, k, 0, 1), zero_scales = zero_codes;
  for (std::size_t i = 0; i < n * k; ++i) zero_codes.codes[i] = i % 3 == 0 ? 0x80 : 0x00;
  zero_scales.scales.assign(zero_scales.scales.size(), 0.0f);
  auto x = test::random_floats(m * k, 2);
  for (std::size_t i = 0; i < k; ++i) x[i] *= 0x1p100f;
  const auto some_bias = test::random_floats(n, 3);
  for (const auto* weights : {&zero_codes, &zero_scales})
    for (const std::vector<float>& bias : {std::vector<float>(), some_bias}) {
      const AnyLinear layer = test::pack<F, F32, Bf16>(weights->view(), bias);
      for (const char* activation : {"f32", "bf16"})
        for_each_kernel(*layer.with(activation), [&](const AnyLinear& kernel, const char*) {
          const auto y = run_layer(kernel, x.data(), m);
          for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], bias.empty() ? 0.0f : bias[i % n]);
        });
    }
}

// A row of W is decode, whatever the block and the slice; and decode is scale * code.
TYPED_TEST(Fp8, DequantizesAsItDecodes) {
  const auto weights = test::random_weights<TypeParam>(37, 61, 24, 5);
  const auto view = weights.view(4, 33);
  const AnyLinear layer = test::pack<TypeParam, F32>(view);
  std::vector<float> row(61);
  for (std::size_t n = 0; n < 33; ++n) {
    layer.dequantize_row(n, row.data());
    for (std::size_t k = 0; k < 61; ++k) {
      EXPECT_EQ(TypeParam::decode(view, n, k), weights.value(4 + n, k)) << n << ", " << k;
      EXPECT_EQ(row[k], weights.value(4 + n, k)) << n << ", " << k;
    }
  }
}

TEST(Fp8Plan, NamesTheBlock) {
  EXPECT_EQ(Fp8Block<>::name(), "fp8 e4m3 b128x128");
  EXPECT_EQ(Dynamic::name(), "fp8 e4m3 b*x*");
  EXPECT_EQ(Fp8Channel<Float8E5M2>::name(), "fp8 e5m2 b1xall");
  EXPECT_EQ(Fp8Tensor<>::name(), "fp8 e4m3 ballxall");
}

template <class F>
void expect_refused(const typename F::View& view, ErrorCode code, std::initializer_list<const char*> words) {
  const auto layer = Linear<F, F32>::pack(view);
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().code, code);
  for (const char* word : words)
    EXPECT_NE(layer.error().message.find(word), std::string::npos)
        << "no '" << word << "' in: " << layer.error().message;
}
TEST(Fp8Refusal, SpansThatDoNotFollowFromTheShape) {
  using F = Fp8Block<16, 32>;
  const test::Weights<F> good(33, 65);  // 3 x 3 blocks
  ASSERT_TRUE((Linear<F, F32>::pack(good.view())));
  auto view = good.view();
  view.codes = view.codes.first(2144);
  expect_refused<F>(view, ErrorCode::invalid_argument, {"codes", "2144", "2145"});
  view = good.view();
  view.scales = view.scales.first(8);
  expect_refused<F>(view, ErrorCode::invalid_argument, {"scales", "8", "9", "16 x 32"});
  view = good.view();
  view.first_row = 15;  // rows 15 .. 47: still three rows of blocks
  EXPECT_TRUE((Linear<F, F32>::pack(view)));
  view.first_row = 16;
  expect_refused<F>(view, ErrorCode::invalid_argument, {"scales", "9", "12", "16 x 32"});
}
TEST(Fp8Refusal, BlocksOfNothing) {
  const test::Weights<Dynamic> good(4, 6, 3, 2);
  ASSERT_TRUE((Linear<Dynamic, F32>::pack(good.view())));
  auto view = good.view();
  view.dynamic_n = 0;
  expect_refused<Dynamic>(view, ErrorCode::invalid_argument, {"block of scales", "0 x 3"});
  view = good.view();
  view.dynamic_k = 0;
  expect_refused<Dynamic>(view, ErrorCode::invalid_argument, {"block of scales", "2 x 0"});
}
TEST(Fp8Refusal, SizesBeyondMemory) {
  Dynamic::View view;
  view.dynamic_n = view.dynamic_k = 1;
  view.n = std::size_t{1} << 62;
  view.k = 4;
  expect_refused<Dynamic>(view, ErrorCode::too_large, {"N x K"});
  // The number of scales, (first_row + 1) * 2, would wrap to 0.
  const std::uint8_t codes[2] = {};
  view.n = 1;
  view.k = 2;
  view.codes = codes;
  view.first_row = (std::size_t{1} << 63) - 1;
  expect_refused<Dynamic>(view, ErrorCode::too_large, {});
}

}
