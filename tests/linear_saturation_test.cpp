// SPDX-License-Identifier: Apache-2.0
// The largest integer sums that formats and activations allow: no kernel may saturate or wrap.
#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;
using test::run_layer;

// All codes equal, x all +limit, all -limit, and alternating: codes of x are x itself, its scale is 1, and y
// is an integer. Its partial sums, multiples of limit * difference, are exact as floats: 16129 * 2^8 * 2^12.
template <class F, class Activation>
void expect_exact_extremes(int code, int zero, int difference) {
  constexpr float limit = Activation::bits == 8 ? 127.0f : 32512.0f;
  for (const std::size_t k : {2u, 64u, 4096u}) {
    test::Weights<F> weights(17, k);
    weights.set_codes(code);
    weights.set_scales(1.0f);
    if (weights.has_zeros) weights.zeros.assign(weights.zeros.size(), static_cast<std::uint8_t>(zero));
    std::vector<float> x(3 * k, limit);
    for (std::size_t i = 0; i < k; ++i) {
      x[k + i] = -limit;
      x[2 * k + i] = i % 2 == 0 ? limit : -limit;
    }
    const float sum = static_cast<float>(k) * limit * static_cast<float>(difference);
    std::vector<float> expected(3 * 17, 0.0f);
    std::fill_n(expected.begin(), 17, sum);
    std::fill_n(expected.begin() + 17, 17, -sum);
    for_each_kernel(test::pack<F, Activation>(weights.view()), [&](const AnyLinear& kernel, const char*) {
      EXPECT_EQ(run_layer(kernel, x.data(), 3), expected)
          << "K = " << k << ", code " << code << ", zero " << zero;
    });
  }
}

TEST(Saturation, SignedBytes) {
  expect_exact_extremes<Int8<per_channel, float>, DynamicInt8>(255, 0, 127);
  expect_exact_extremes<Int8<per_channel, float>, DynamicInt8>(0, 0, -128);
  expect_exact_extremes<Int8<per_channel, float>, DynamicInt16>(255, 0, 127);
  expect_exact_extremes<Int8<per_channel, float>, DynamicInt16>(0, 0, -128);
}
TEST(Saturation, BytesWithZeros) {
  // 255 * 32512 needs 23 bits, and a whole power of two of them 24 bits at most.
  expect_exact_extremes<Int8Zero<per_channel, float>, DynamicInt8>(255, 0, 255);
  expect_exact_extremes<Int8Zero<per_channel, float>, DynamicInt8>(0, 255, -255);
  expect_exact_extremes<Int8Zero<per_channel, float>, DynamicInt16>(255, 0, 255);
  expect_exact_extremes<Int8Zero<per_channel, float>, DynamicInt16>(0, 255, -255);
}
TEST(Saturation, Nibbles) {
  expect_exact_extremes<Int4<per_channel, float>, DynamicInt8>(15, 0, 7);
  expect_exact_extremes<Int4<per_channel, float>, DynamicInt16>(0, 0, -8);
  expect_exact_extremes<Int4Zero<per_channel, float>, DynamicInt16>(15, 0, 15);
  expect_exact_extremes<Int4Zero<per_channel, float>, DynamicInt16>(0, 15, -15);
}
// zeros are bytes, and value = scale * (code - zero) for all of them.
TEST(Saturation, NibblesWithZerosBeyondTheirCodes) {
  expect_exact_extremes<Int4Zero<per_channel, float>, DynamicInt8>(0, 255, -255);
  expect_exact_extremes<Int4Zero<per_channel, float>, DynamicInt16>(0, 255, -255);
}

// The low byte of a 16-bit code reaches -128, which no 8-bit activation does: 255 * -128 * 2 = -65280 a pair.
TEST(Saturation, LowBytesOfMinus128) {
  using F = Int8Zero<per_channel, float>;
  constexpr std::size_t k = 96;
  test::Weights<F> weights(16, k);
  weights.set_codes(255);
  weights.set_scales(1.0f);
  std::vector<float> x(k);
  float sum = 0.0f;
  for (std::size_t i = 0; i < k; ++i) {
    x[i] = i == 0 ? 32512.0f : 128.0f + 256.0f * static_cast<float>(i % 4);  // low byte -128, high byte 1..4
    sum += x[i];
  }
  for_each_kernel(test::pack<F, DynamicInt16>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    EXPECT_EQ(run_layer(kernel, x.data(), 1), std::vector<float>(16, 255.0f * sum));
  });
}

// Every code times every code of x: no product is special.
TEST(Saturation, EveryProductOfTwoBytes) {
  using F = Int8<per_channel, float>;
  test::Weights<F> weights(256, 2);
  weights.set_scales(1.0f);
  for (std::size_t n = 0; n < 256; ++n) weights.set_code(n, 0, static_cast<int>(n));
  for (std::size_t n = 0; n < 256; ++n) weights.set_code(n, 1, 128);  // the weight 0
  std::vector<float> x;
  for (int code = -127; code <= 127; ++code) x.insert(x.end(), {static_cast<float>(code), 127.0f});
  for_each_kernel(test::pack<F, DynamicInt8>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    const auto y = run_layer(kernel, x.data(), 255);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const int expected = (static_cast<int>(i / 256) - 127) * (static_cast<int>(i % 256) - 128);
      ASSERT_EQ(y[i], static_cast<float>(expected)) << "x " << i / 256 << ", code " << i % 256;
    }
  });
}

}
