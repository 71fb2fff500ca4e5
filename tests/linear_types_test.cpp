// SPDX-License-Identifier: Apache-2.0
// x and y of 16 bits: x stands for its float values, y is the float result rounded to nearest even.
#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;

constexpr std::size_t m = 9, n = 37, k = 77;

/// Nine rows [9, K] of all sizes: y is subnormal as binary16 and as bfloat16, beyond the largest binary16 and
/// float, and comes from rows of zeros, with NaN, with infinity.
std::vector<float> rows_of_all_sizes() {
  std::vector<float> x = test::random_floats(m * k, 1);
  const float sizes[m] = {1.0f, 0x1p-13f, 0x1p-20f, 0x1p-130f, 0x1p15f, 0x1.8p127f, 0.0f, 1.0f, 1.0f};
  for (std::size_t i = 0; i < m * k; ++i) x[i] *= sizes[i / k];
  x[7 * k + 3] = std::nanf("");
  x[8 * k + 70] = -HUGE_VALF;
  return x;
}

/// Calls body(layer) for the format under each of the activations, a range included. A third of the columns
/// has no bias, which would hide what is small.
template <class F, class... Activations>
void for_each_activation(const auto& body) {
  const auto weights = test::random_weights<F>(n, k, 0, 2);
  auto bias = test::random_floats(n, 3);
  for (std::size_t i = 0; i < n; i += 3) bias[i] = 0.0f;
  const AnyLinear layer = test::pack<F, Activations...>(weights.view(), bias);
  for (const char* activation : {Activations::name...})
    body(*layer.with(activation)->with_range({0.0078125f, 17}));
}
template <class F>
void for_each_integer_activation(const auto& body) {
  for_each_activation<F, DynamicInt8, DynamicInt8PerGroup, DynamicInt16, DynamicInt16PerGroup,
                      DynamicInt8Zero, StaticInt8, F32, Bf16>(body);
}
void for_each_layer(const auto& body) {
  for_each_integer_activation<Int4Min<48, Float16>>(body);
  for_each_integer_activation<Int8<32, BFloat16>>(body);
  for_each_activation<Bf16Weight, F32, Bf16>(body);
  for_each_activation<Fp8Block<16, 32>, F32, Bf16>(body);
}

// x lies with a stride of K + 5; what is between its rows is NaN, which would spread if it were read.
template <class T>
void expect_x_stands_for_its_floats() {
  constexpr std::size_t stride = k + 5;
  const std::vector<float> wanted = rows_of_all_sizes();
  std::vector<T> stored(m * stride, from_float<T>(std::nanf("")));
  std::vector<float> values(m * k);
  for (std::size_t i = 0; i < m * k; ++i) {
    stored[i / k * stride + i % k] = from_float<T>(wanted[i]);
    values[i] = static_cast<float>(test::value_of(from_float<T>(wanted[i])));
  }
  for_each_layer([&](const AnyLinear& layer) {
    for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
      for (const std::size_t rows : {m, std::size_t{1}})
        for (const std::size_t tasks : {1u, 4u})
          test::expect_same(
              test::run_layer_as<float>(kernel, MatrixView<const T>(stored.data(), rows, k, stride),
                                        test::LastTaskFirst{tasks}),
              test::run_layer(kernel, values.data(), rows));
    });
  });
}
TEST(TypeOfX, BFloat16) {
  expect_x_stands_for_its_floats<BFloat16>();
}
TEST(TypeOfX, Float16) {
  expect_x_stands_for_its_floats<Float16>();
}

// run_layer_as watches that all of y is written and nothing between its rows.
template <class T>
void expect_y_rounded() {
  const std::vector<float> x = rows_of_all_sizes();
  bool subnormal = false, inexact = false;
  for_each_layer([&](const AnyLinear& layer) {
    for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
      for (const std::size_t rows : {m, std::size_t{2}, std::size_t{1}}) {
        const auto exact = test::run_layer(kernel, x.data(), rows);
        const auto y = test::run_layer_as<T>(kernel, MatrixView<const float>(x.data(), rows, k),
                                             test::LastTaskFirst{rows % 3 + 1});
        for (std::size_t i = 0; i < y.size(); ++i) {
          const double found = test::value_of(y[i]), wanted = test::nearest_value<T>(exact[i]);
          ASSERT_TRUE(test::equal_or_nan(found, wanted))
              << "y[" << i / n << ", " << i % n << "] is " << found << " for the float " << exact[i];
          ASSERT_TRUE(std::isnan(found) || std::signbit(found) == std::signbit(exact[i]))
              << "the sign of y[" << i / n << ", " << i % n << "]";
          subnormal =
              subnormal || (found != 0.0 && std::fabs(found) < std::ldexp(1.0, 1 - test::Fields<T>::bias));
          inexact = inexact || found != static_cast<double>(exact[i]);
        }
      }
    });
  });
  EXPECT_TRUE(subnormal && inexact) << "the rows did not reach all kinds of y";
}
TEST(TypeOfY, BFloat16) {
  expect_y_rounded<BFloat16>();
}
TEST(TypeOfY, Float16) {
  expect_y_rounded<Float16>();
}

// Ties and ends of the range, one by one: the layer is one weight of 1, so y is the rounded x.
template <class T>
void expect_single_roundings() {
  test::Weights<F32Weight> weights(1, 1);
  weights.values[0] = 1.0f;
  std::vector<float> x;
  for (unsigned bits = 0; bits < 0x7800; bits += 61) {  // prime, so that all fields vary
    const double below = test::value_of(T{static_cast<std::uint16_t>(bits)}),
                 above = test::value_of(T{static_cast<std::uint16_t>(bits + 1)});
    const float middle = static_cast<float>((below + above) / 2);
    for (const float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, HUGE_VALF)})
      x.insert(x.end(), {value, -value});
  }
  const float beyond = std::ldexp(1.0f, test::Fields<T>::bias) *
                       (2.0f - std::ldexp(1.0f, -test::Fields<T>::fraction_bits - 1));
  for (const float value : {std::nextafter(beyond, 0.0f), beyond, std::nextafter(beyond, HUGE_VALF),
                            std::numeric_limits<float>::max(), HUGE_VALF})
    x.insert(x.end(), {value, -value});
  for (const std::uint32_t nan : {0x7FC00000u, 0x7F800001u, 0x7FFFFFFFu, 0xFFFFFFFFu})
    x.push_back(std::bit_cast<float>(nan));
  for_each_kernel(test::pack<F32Weight, F32>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    const auto y = test::run_layer_as<T>(kernel, MatrixView<const float>(x.data(), x.size(), 1));
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(test::equal_or_nan(test::value_of(y[i]), test::nearest_value<T>(x[i])))
          << test::value_of(y[i]) << " for " << std::hexfloat << x[i];
  });
}
TEST(TypeOfY, RoundsToEvenAndBeyondTheRange) {
  expect_single_roundings<BFloat16>();
  expect_single_roundings<Float16>();
}

// A float layer whose x and y are both of 16 bits, as a model keeps them between layers.
TEST(TypesOfXAndY, MeetInOneCall) {
  const auto weights = test::random_weights<Bf16Weight>(n, k, 0, 2);
  const std::vector<float> x = test::random_floats(m * k, 3);
  std::vector<BFloat16> stored;
  for (const float value : x) stored.push_back(from_float<BFloat16>(value));
  const auto exact = test::float_model<Bf16Weight, Bf16>(weights, x, m, {});
  for_each_kernel(test::pack<Bf16Weight, Bf16>(weights.view()), [&](const AnyLinear& kernel, const char*) {
    const auto y = test::run_layer_as<Float16>(kernel, MatrixView<const BFloat16>(stored.data(), m, k));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double bound = test::float_bound<Bf16>(k) * exact[i].magnitude;
      // and half a unit of binary16, at most 2^-11 of y or of its smallest normal number
      const double rounding = 0x1p-11 * std::max(std::fabs(exact[i].value) + bound, 0x1p-14);
      EXPECT_LE(std::fabs(test::value_of(y[i]) - exact[i].value), bound + rounding);
    }
  });
}

}
