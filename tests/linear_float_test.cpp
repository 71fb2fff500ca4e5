// SPDX-License-Identifier: Apache-2.0
// Float activations: every kernel and every format stays within the derived bound of the sum in double, and
// reads single weights exactly.
#include <gtest/gtest.h>

#include "support/float_grid.hpp"

namespace {

using namespace edgeq;

template <class F>
class FloatActivation : public testing::Test {};
using Formats = testing::Types<Int4<32, BFloat16>, Int4<per_tensor, float>, Int4Zero<20, Float16>,
                               Int4Min<48, float>, Int8<640, Float16>, Int8Zero<per_channel, BFloat16>,
                               Int8Min<dynamic_group, Float16>, F32Weight, F16Weight, Bf16Weight>;
TYPED_TEST_SUITE(FloatActivation, Formats, );

TYPED_TEST(FloatActivation, StaysWithinTheBound) {
  test::expect_within_bound<TypeParam, F32>(24, {1, 31, 77, 257, 1291}, {1, 2, 3, 4, 5, 9, 33, 130});
}
TYPED_TEST(FloatActivation, ReadsSingleWeightsExactly) {
  test::expect_single_weights_exact<TypeParam, F32>(test::random_weights<TypeParam>(19, 83, 24, 3));
  test::expect_single_weights_exact<TypeParam, F32>(test::random_weights<TypeParam>(19, 33, 7, 3));
}

// The bound must include the bias: beside a bias of 1 a product of 2^-30 is lost.
TEST(FloatActivationBias, IsRoundedToo) {
  test::Weights<F32Weight> weights(1, 1);
  weights.values[0] = 0x1p-30f;
  const float one = 1.0f;
  test::for_each_kernel(
      test::pack<F32Weight, F32>(weights.view(), {1.0f}),
      [&](const AnyLinear& kernel, const char*) { EXPECT_EQ(test::run_layer(kernel, &one, 1)[0], 1.0f); });
}

}
