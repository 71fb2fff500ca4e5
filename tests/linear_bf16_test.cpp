// SPDX-License-Identifier: Apache-2.0
// bfloat16 activations: every kernel and every format stays within the documented bound of the sum in double
// of x rounded to bf16, for rows of decode and of prefill, and reads single weights exactly.
#include <gtest/gtest.h>

#include "support/float_grid.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;

template <class F>
class Bf16Activation : public testing::Test {};
using Formats = testing::Types<Int4<32, BFloat16>, Int4<per_tensor, float>, Int4Zero<20, Float16>,
                               Int4Min<48, float>, Int8<640, Float16>, Int8Zero<per_channel, BFloat16>,
                               Int8Min<dynamic_group, Float16>, F32Weight, F16Weight, Bf16Weight>;
TYPED_TEST_SUITE(Bf16Activation, Formats, );

TYPED_TEST(Bf16Activation, StaysWithinTheBound) {
  test::expect_within_bound<TypeParam, Bf16>(24, {1, 31, 77, 257, 1291},
                                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 64, 130});
}

// Codes are multiplied as they are or less the midpoint, and such products of one are exact: a weight without
// a zero or minimum has the one rounding of its scale.
template <class F>
class Bf16SingleWeight : public testing::Test {};
using OneRounding =
    testing::Types<Int4<32, BFloat16>, Int8<dynamic_group, float>, F32Weight, F16Weight, Bf16Weight>;
TYPED_TEST_SUITE(Bf16SingleWeight, OneRounding, );

TYPED_TEST(Bf16SingleWeight, IsReadExactly) {
  test::expect_single_weights_exact<TypeParam, Bf16>(test::random_weights<TypeParam>(19, 83, 24, 3));
  test::expect_single_weights_exact<TypeParam, Bf16>(test::random_weights<TypeParam>(19, 33, 7, 3));
}

// x is rounded to nearest even: times a weight of 1, y is the rounded x. One column, one row for each x.
TEST(Bf16Rounding, IsToNearestEven) {
  using F = Int4<per_channel, float>;
  test::Weights<F> weights(1, 1);
  weights.set_codes(9);
  weights.set_scales(1.0f);
  std::vector<float> x = {1.0f,
                          0x1.01p0f,       // halfway between 1 and its successor, which is odd
                          0x1.03p0f,       // halfway, and the even one is above
                          0x1.010002p0f,   // just above halfway
                          0x1.00fffep0f,   // just below
                          -0x1.01p0f,      //
                          -0x1.03p0f,      //
                          0x1.ffp0f,       // up to 2
                          0x1.fe8p100f,    //
                          0x1.fffffep-3f,  //
                          0x1.01p-126f,    // the smallest normal numbers
                          0x1.8p100f};
  for (const float random : test::random_floats(100, 1)) x.push_back(random);
  for_each_kernel(test::pack<F, Bf16>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    const auto y = test::run_layer(kernel, x.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(static_cast<double>(y[i]), test::nearest_value<BFloat16>(x[i])) << std::hexfloat << x[i];
  });
  EXPECT_EQ(test::nearest_value<BFloat16>(x[1]), 1.0);  // by hand
  EXPECT_EQ(test::nearest_value<BFloat16>(x[2]), 0x1.04p0);
  EXPECT_EQ(test::nearest_value<BFloat16>(x[3]), 0x1.02p0);
  EXPECT_EQ(test::nearest_value<BFloat16>(x[4]), 1.0);
}

// What rounds to infinity makes its row infinite, and NaN whose payload lies in the lower half stays NaN.
TEST(Bf16Rounding, KeepsWhatIsNotFinite) {
  test::Weights<Bf16Weight> weights(3, 1);
  weights.values.assign(3, BFloat16::from_float(2.0f));
  const std::vector<float> x = {0x1.ffp127f,
                                std::numeric_limits<float>::max(),
                                -HUGE_VALF,
                                std::bit_cast<float>(0x7F800001u),
                                std::bit_cast<float>(0xFFFFFFFFu),
                                1.0f};
  for_each_kernel(test::pack<Bf16Weight, Bf16>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    const auto y = test::run_layer(kernel, x.data(), x.size());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(y[i], HUGE_VALF);
      EXPECT_EQ(y[3 + i], HUGE_VALF);
      EXPECT_EQ(y[6 + i], -HUGE_VALF);
      EXPECT_TRUE(std::isnan(y[9 + i]) && std::isnan(y[12 + i])) << y[9 + i] << ", " << y[12 + i];
      EXPECT_EQ(y[15 + i], 2.0f);
    }
  });
}

}
