// SPDX-License-Identifier: Apache-2.0
// NaN and Inf reach exactly the row or the column that they belong to.
#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;
using test::run_layer;
using test::same;

constexpr float infinity = HUGE_VALF;
constexpr ActivationRange range = {0.01f, 20};  // of static activations

template <class F, class... Activations>
void for_each_kernel_and_activation(const typename F::View& view, const std::vector<float>& bias,
                                    const auto& body) {
  const AnyLinear layer = *test::pack<F, Activations...>(view, bias).with_range(range);
  for (const char* activation : {Activations::name...}) for_each_kernel(*layer.with(activation), body);
}

// Row 4 of 9 holds one value that is not finite, at the ends of groups and vectors.
template <class F, class... Activations>
void expect_bad_row_alone() {
  constexpr std::size_t m = 9, n = 19, k = 77, bad = 4;
  const auto weights = test::random_weights<F>(n, k, 0, 1);
  const auto x = test::random_floats(m * k, 2), bias = test::random_floats(n, 3);
  for_each_kernel_and_activation<F, Activations...>(
      weights.view(), bias, [&](const AnyLinear& kernel, const char*) {
        const auto clean = run_layer(kernel, x.data(), m);
        for (const float value : {std::nanf(""), infinity, -infinity})
          for (const std::size_t at : {0u, 15u, 31u, 32u, 63u, 76u}) {
            auto dirty = x;
            dirty[bad * k + at] = value;
            const auto y = run_layer(kernel, dirty.data(), m);
            for (std::size_t i = 0; i < y.size(); ++i)
              if (i / n == bad)
                ASSERT_FALSE(std::isfinite(y[i])) << "column " << i % n << " for x[" << at << "] = " << value;
              else
                ASSERT_TRUE(same(y[i], clean[i])) << "row " << i / n << " for x[" << at << "] = " << value;
          }
      });
}
TEST(BadRow, Int4) {
  expect_bad_row_alone<Int4<32, Float16>, DynamicInt8, DynamicInt8PerGroup, DynamicInt16, DynamicInt8Zero,
                       StaticInt8, F32, Bf16>();
}
TEST(BadRow, Int8WithMinimum) {
  expect_bad_row_alone<Int8Min<32>, DynamicInt8, DynamicInt16PerGroup, DynamicInt8Zero, StaticInt8, F32,
                       Bf16>();
}
TEST(BadRow, Fp8) {
  expect_bad_row_alone<Fp8Block<16, 32>, F32, Bf16>();
}
TEST(BadRow, BFloat16Weight) {
  expect_bad_row_alone<Bf16Weight, F32, Bf16>();
}

// One weight, scale or minimum of column `bad` is replaced by each value that is not finite.
template <class T>
std::vector<T> not_finite() {
  return {from_float<T>(std::nanf("")), from_float<T>(infinity), from_float<T>(-infinity)};
}
template <class F, class... Activations, class Array>
void expect_bad_column_alone(Array array) {
  constexpr std::size_t m = 6, n = 37, k = 77;
  const auto clean_weights = test::random_weights<F>(n, k, 0, 4);
  const auto x = test::random_floats(m * k, 5), bias = test::random_floats(n, 6);
  const std::size_t per_row = (clean_weights.*array).size() / n;
  for (const std::size_t bad : {0u, 15u, 16u, 36u})
    for (const std::size_t at : {std::size_t{0}, per_row - 1})
      for (const auto value :
           not_finite<typename std::decay_t<decltype(clean_weights.*array)>::value_type>()) {
        auto weights = clean_weights;
        (weights.*array)[bad * per_row + at] = value;
        const AnyLinear clean_layer =
            *test::pack<F, Activations...>(clean_weights.view(), bias).with_range(range);
        for_each_kernel_and_activation<F, Activations...>(
            weights.view(), bias, [&](const AnyLinear& kernel, const char* name) {
              const auto y = run_layer(kernel, x.data(), m);
              const auto clean = run_layer(*clean_layer.with(kernel.activation())->only(name), x.data(), m);
              for (std::size_t i = 0; i < y.size(); ++i)
                if (i % n == bad)
                  ASSERT_FALSE(std::isfinite(y[i])) << "row " << i / n << ", column " << bad;
                else
                  ASSERT_TRUE(same(y[i], clean[i])) << "column " << i % n << " for a value in column " << bad;
            });
      }
}
TEST(BadColumn, ScaleF16) {
  using F = Int4<32, Float16>;
  expect_bad_column_alone<F, DynamicInt8PerGroup, DynamicInt16, StaticInt8, F32, Bf16>(
      &test::Weights<F>::scales);
}
TEST(BadColumn, ScaleAndMinimumBf16) {
  using F = Int4Min<20, BFloat16>;
  expect_bad_column_alone<F, DynamicInt8, DynamicInt16PerGroup, F32>(&test::Weights<F>::scales);
  expect_bad_column_alone<F, DynamicInt8Zero, DynamicInt16PerGroup, F32>(&test::Weights<F>::minima);
}
TEST(BadColumn, ScaleF32) {
  using F = Int8Zero<32, float>;
  expect_bad_column_alone<F, DynamicInt8, DynamicInt8Zero, DynamicInt16, F32>(&test::Weights<F>::scales);
}
TEST(BadColumn, Weight) {
  expect_bad_column_alone<F32Weight, F32>(&test::Weights<F32Weight>::values);
  expect_bad_column_alone<F16Weight, F32>(&test::Weights<F16Weight>::values);
  expect_bad_column_alone<Bf16Weight, F32, Bf16>(&test::Weights<Bf16Weight>::values);
}

}
