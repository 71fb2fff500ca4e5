// SPDX-License-Identifier: Apache-2.0
// Activations with a zero point, found or given: every kernel returns the bits of the scalar model, for any
// weights, shape and range, and small cases what is known by hand.
#include <gtest/gtest.h>

#include "support/integer_grid.hpp"

namespace {

using namespace edgeq;
using test::expect_integer_model;
using test::for_each_kernel;
using test::run_layer;

TEST(ZeroPointModel, Int4Symmetric) {
  expect_integer_model<Int4<20, float>, DynamicInt8Zero, StaticInt8>({1, 3, 39, 61, 133});
}
TEST(ZeroPointModel, Int4WithZeros) {
  expect_integer_model<Int4Zero<32, BFloat16>, DynamicInt8Zero, StaticInt8>({31, 33, 256});
}
TEST(ZeroPointModel, Int4WithMinimaKnownAtRunTimeOnly) {
  for (const std::size_t group : {7u, 600u}) {
    SCOPED_TRACE("group " + std::to_string(group));
    expect_integer_model<Int4Min<dynamic_group, Float16>, DynamicInt8Zero, StaticInt8>({2, 613}, group);
  }
}
TEST(ZeroPointModel, Int8Symmetric) {
  expect_integer_model<Int8<640, BFloat16>, DynamicInt8Zero, StaticInt8>({511, 639, 1291});
}
TEST(ZeroPointModel, Int8WithZeros) {
  expect_integer_model<Int8Zero<per_channel, float>, DynamicInt8Zero, StaticInt8>({1, 255, 513, 1037});
}
TEST(ZeroPointModel, Int8WithMinima) {
  expect_integer_model<Int8Min<48, Float16>, DynamicInt8Zero, StaticInt8>({5, 49, 143});
}
TEST(ZeroPointModel, NoDepth) {
  expect_integer_model<Int8Min<32, Float16>, DynamicInt8Zero, StaticInt8>({0});
}

// A column sum is found in double and rounded once: in float, 2^24 would swallow the ones that follow it.
TEST(ColumnSum, IsFoundInDouble) {
  using F = Int8<1, float>;
  constexpr std::size_t k = 129;
  test::Weights<F> weights(17, k);
  weights.set_codes(129);
  weights.set_scales(1.0f);
  for (std::size_t n = 0; n < weights.n; ++n) weights.scales[n * k] = 0x1p24f;
  const AnyLinear layer = *test::pack<F, StaticInt8>(weights.view()).with_range({1.0f, 100});
  const std::vector<float> x(k, 0.0f);  // the code 100
  float out = 0.0f;
  for (std::size_t i = 0; i < k; ++i) out = std::fma(100.0f, i == 0 ? 0x1p24f : 1.0f, out);
  const float expected = out - 100.0f * (0x1p24f + 128.0f);  // both are multiples of 128
  for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
    EXPECT_EQ(run_layer(kernel, x.data(), 1), std::vector<float>(17, expected));
  });
}

// In the order of k: 2^60 and -2^60 cancel before they meet a 1, which would be lost in either.
TEST(ColumnSum, IsAddedInAscendingOrder) {
  using F = Int8<1, float>;
  test::Weights<F> weights(17, 3);
  weights.set_codes(129);
  for (std::size_t n = 0; n < weights.n; ++n) {
    weights.scales[n * 3] = 0x1p60f;
    weights.scales[n * 3 + 1] = -0x1p60f;
    weights.scales[n * 3 + 2] = 1.0f;
  }
  const AnyLinear layer = *test::pack<F, StaticInt8>(weights.view()).with_range({1.0f, 100});
  const std::vector<float> x = {0, 0, 5};
  for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
    EXPECT_EQ(run_layer(kernel, x.data(), 1), std::vector<float>(17, 5.0f));
  });
}

// Weights 2 and 3, and steps of 1: codes and sums are small integers.
TEST(ZeroPoint, KnownByHand) {
  using F = Int4<per_channel, float>;
  test::Weights<F> weights(1, 4);
  weights.set_codes(8);
  weights.set_code(0, 0, 10);
  weights.set_code(0, 1, 11);
  weights.set_scales(1.0f);
  const AnyLinear layer = test::pack<F, DynamicInt8Zero, StaticInt8>(weights.view(), {0.25f});
  const std::vector<float> x = {254, -1, 7, 0, 255, 0, 3, 3, 0, -255, 1e-9f, 0};
  for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
    EXPECT_EQ(run_layer(kernel, x.data(), 3), (std::vector<float>{505.25f, 510.25f, -764.75f}));
  });
  // Steps of 2 from the code -28: x is cut off at 2 (-128 + 28) = -200 and 2 (127 + 28) = 310.
  for_each_kernel(
      *layer.with("int8/static")->with_range({2.0f, -28}), [&](const AnyLinear& kernel, const char*) {
        const std::vector<float> beyond = {-1e30f, 1e30f, 0, 0, 5, 7, 0, 0};  // 2.5 and 3.5 steps: 2 and 4
        EXPECT_EQ(run_layer(kernel, beyond.data(), 2),
                  (std::vector<float>{2 * -200 + 3 * 310 + 0.25f, 2 * 4 + 3 * 8 + 0.25f}));
      });
}

// Where no element is negative, x is wrong by at most half a step, a / 510, half of what DynamicInt8
// promises; and by four roundings (of the inverse, the product, the scale and y) of at most 255 steps, 255 *
// 4 * 2^-24. W is the identity, so y is x as the codes have it.
TEST(ZeroPoint, HalvesTheErrorOfOneSidedRows) {
  using F = Int8<per_channel, float>;
  constexpr std::size_t k = 300;
  test::Weights<F> weights(k, k);
  weights.set_codes(128);
  for (std::size_t i = 0; i < k; ++i) weights.set_code(i, i, 129);
  weights.set_scales(1.0f);
  std::vector<float> x = test::random_floats(k, 1);
  for (float& value : x) value = std::fabs(value);
  const float largest = *std::max_element(x.begin(), x.end());
  const AnyLinear layer = test::pack<F, DynamicInt8Zero, DynamicInt8>(weights.view());
  const auto worst = [&](const AnyLinear& kernel) {
    const auto y = run_layer(kernel, x.data(), 1);
    float error = 0.0f;
    for (std::size_t i = 0; i < k; ++i) error = std::max(error, std::fabs(y[i] - x[i]));
    return error;
  };
  for_each_kernel(layer, [&](const AnyLinear& kernel, const char* name) {
    EXPECT_LE(worst(kernel), static_cast<double>(largest) / 255 * (0.5 + 255 * 4 * 0x1p-24));
    EXPECT_GT(worst(*layer.with("int8")->only(name)), 1.5f * worst(kernel));
  });
}

}
