// SPDX-License-Identifier: Apache-2.0
// Round-to-nearest: no other code is nearer, searching never loses, what a format holds survives, and no
// finite float gives a NaN.
#include "edgeq/quantize/round_to_nearest.hpp"

#include <gtest/gtest.h>

#include "edgeq/format/formats.hpp"
#include "edgeq/quantize/float8.hpp"
#include "support/run_layer.hpp"
#include "support/test_weights.hpp"

namespace {

using namespace edgeq;
using quantize::Search;

template <class F>
double squared_error(const quantize::QuantizedWeights<F>& q, const std::vector<float>& w) {
  double sum = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i)
    sum += std::pow(double{F::decode(q.view(), i / q.k, i % q.k)} - double{w[i]}, 2);
  return sum;
}

template <class F>
class RoundToNearest : public testing::Test {};
using Formats = testing::Types<Int4<32, BFloat16>, Int4<per_channel, float>, Int4Zero<24, Float16>,
                               Int4Min<dynamic_group, Float16>, Int8<64, Float16>,
                               Int8Zero<per_channel, float>, Int8Min<40, float>>;
TYPED_TEST_SUITE(RoundToNearest, Formats, );

// Under the parameters of its group a weight has no better code. Half a step may go either way in float.
TYPED_TEST(RoundToNearest, TakesTheNearestCode) {
  using F = TypeParam;
  constexpr std::size_t n = 5, k = 100;
  std::vector<float> w = test::random_floats(n * k, 1);
  for (std::size_t i = 0; i < k; ++i) w[k + i] = w[k + i] * 1e-3f + 5.0f;  // far from 0
  const auto q = quantize::round_to_nearest<F>({w.data(), n, k}, Search::extremes, 20);
  ASSERT_TRUE(q.view().validate()) << q.view().validate().error().message;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t g = i * q.groups() + j / q.group;
      const double found = std::fabs(double{F::decode(q.view(), i, j)} - double{w[i * k + j]});
      double nearest = HUGE_VAL;
      for (int code = 0; code <= F::Codec::maximum; ++code)
        nearest = std::min(
            nearest, std::fabs(double{F::value(code, q.scales[g],
                                               F::Offset::has_minima ? q.minima[g] : typename F::Scale{},
                                               F::Offset::has_zeros ? q.zeros[g] : 0)} -
                               double{w[i * k + j]}));
      // Each of the two operations of encode, a subtraction and a division, and decode's own, rounds once.
      EXPECT_LE(found, nearest + 4 * 0x1p-24 * std::fabs(double{w[i * k + j]})) << i << ", " << j;
    }
}

TYPED_TEST(RoundToNearest, SearchNeverLoses) {
  using F = TypeParam;
  const std::size_t n = 7, k = 120;
  std::vector<float> w = test::random_floats(n * k, 2);
  for (std::size_t i = 0; i < w.size(); i += 37) w[i] *= 6.0f;  // outliers, for which a smaller range pays
  const double plain =
      squared_error(quantize::round_to_nearest<F>({w.data(), n, k}, Search::extremes, 20), w);
  const double searched =
      squared_error(quantize::round_to_nearest<F>({w.data(), n, k}, Search::squared_error, 20), w);
  EXPECT_LE(searched, plain);
  if (F::Codec::bits == 4) {
    EXPECT_LT(searched, 0.97 * plain) << "outliers of 6 times the rest leave something to gain";
  }
}

TYPED_TEST(RoundToNearest, DoesNotDependOnTheExecutor) {
  using F = TypeParam;
  const std::vector<float> w = test::random_floats(9 * 50, 3);
  const auto one = quantize::round_to_nearest<F>({w.data(), 9, 50}, Search::squared_error, 20);
  const auto three =
      quantize::round_to_nearest<F>({w.data(), 9, 50}, Search::squared_error, 20, test::LastTaskFirst{3});
  EXPECT_EQ(one.codes, three.codes);
  EXPECT_EQ(
      std::memcmp(one.scales.data(), three.scales.data(), one.scales.size() * sizeof(typename F::Scale)), 0);
}

TYPED_TEST(RoundToNearest, GivesNoNaN) {
  using F = TypeParam;
  constexpr float largest = std::numeric_limits<float>::max();
  const std::vector<std::vector<float>> rows = {
      std::vector<float>(40, 0.0f), std::vector<float>(40, -0.0f), std::vector<float>(40, 0x1p-149f),
      std::vector<float>(40, largest), std::vector<float>(40, 1e-30f)};
  for (std::vector<float> w : rows)
    for (const float other : {0.0f, -w[0], std::nanf(""), HUGE_VALF})
      for (const Search search : {Search::extremes, Search::squared_error}) {
        w[7] = other;
        const auto q = quantize::round_to_nearest<F>({w.data(), 1, 40}, search, 20);
        for (std::size_t k = 0; k < 40; ++k) {
          const float value = F::decode(q.view(), 0, k);
          ASSERT_TRUE(std::isfinite(value)) << w[0] << ", " << other;
          if (w[k] == 0.0f) {
            EXPECT_LE(std::fabs(value), std::fabs(w[0]) / 8) << w[0] << ", " << other;
          }
        }
        if (w[0] == 0.0f) {
          EXPECT_EQ(F::decode(q.view(), 0, 0), 0.0f);
        }
      }
}

// Weights that have a group's extremes among their codes come back as they were.
TEST(RoundToNearest, KeepsWhatTheFormatHolds) {
  using F = Int4<32, Float16>;
  test::Weights<F> weights = test::random_weights<F>(6, 64, 0, 4);
  std::vector<float> w;
  for (std::size_t n = 0; n < 6; ++n)
    for (std::size_t k = 0; k < 64; ++k) {
      if (k % 32 == 0) weights.set_code(n, k, 0);
      w.push_back(weights.value(n, k));
    }
  const auto q = quantize::round_to_nearest<F>({w.data(), 6, 64}, Search::extremes);
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_EQ(F::decode(q.view(), i / 64, i % 64), w[i]) << i;
}

// [-8, 8] in 16 steps: the range of a symmetric code, and what an asymmetric one makes of [0, 15].
TEST(RoundToNearest, UsesTheFullRange) {
  std::vector<float> w = {-8, -7, 7, 3};
  const auto symmetric = quantize::round_to_nearest<Int4<4, float>>({w.data(), 1, 4}, Search::extremes);
  EXPECT_EQ(symmetric.scales[0], 1.0f);
  EXPECT_EQ(symmetric.codes, (std::vector<std::uint8_t>{0x10, 0xBF}));
  w = {0, 15, 4, 5};
  const auto zero = quantize::round_to_nearest<Int4Zero<4, float>>({w.data(), 1, 4}, Search::extremes);
  EXPECT_EQ(zero.zeros[0], 0);
  EXPECT_EQ(zero.codes, (std::vector<std::uint8_t>{0xF0, 0x54}));
  w = {100, 115, 104, 105};
  const auto minimum = quantize::round_to_nearest<Int4Min<4, float>>({w.data(), 1, 4}, Search::extremes);
  EXPECT_EQ(minimum.minima[0], 100.0f);
  EXPECT_EQ(minimum.codes, (std::vector<std::uint8_t>{0xF0, 0x54}));
}

TEST(QuantizeFloat8, ScalesBlocksToTheLargestCode) {
  std::vector<float> w(3 * 5, 1.0f);
  w[0] = -896.0f;  // the block [0..1, 0..2]
  w[4] = 0.0f;
  w[9] = 0.0f;  // the block [0..1, 3..4] has only w[3] = w[8] = 1
  for (std::size_t k = 0; k < 5; ++k) w[10 + k] = 0.0f;
  const auto q = quantize::scaled_float<Fp8Block<2, 3>>({w.data(), 3, 5});
  ASSERT_TRUE(q.view().validate());
  EXPECT_EQ(q.scales, (std::vector<float>{2.0f, 1.0f / 448.0f, 1.0f, 1.0f}));
  EXPECT_EQ(q.codes[0], 0xFE);
  EXPECT_EQ(q.codes[1], Float8E4M3::from_float(0.5f).bits);
  EXPECT_EQ(q.codes[3], 0x7E);
  EXPECT_EQ(q.codes[12], 0);
  using F = Fp8Channel<>;
  const auto channel = quantize::scaled_float<F>({w.data(), 3, 5});
  EXPECT_EQ(channel.scales.size(), 3u);
  EXPECT_EQ(F::decode(channel.view(), 0, 0), -896.0f);
}
TEST(QuantizeFloat8, GivesNoNaN) {
  for (const float value : {0.0f, 0x1p-149f, 1e-40f, std::numeric_limits<float>::max()}) {
    const std::vector<float> w = {value, -value, std::nanf(""), -HUGE_VALF};
    using F = Fp8Channel<>;
    const auto q = quantize::scaled_float<F>({w.data(), 1, 4});
    for (std::size_t k = 0; k < 4; ++k) EXPECT_TRUE(std::isfinite(F::decode(q.view(), 0, k))) << value;
    if (value > 1e-30f) {
      EXPECT_NEAR(F::decode(q.view(), 0, 0) / value, 1.0f, 0x1p-22f);
    }
  }
}

}
