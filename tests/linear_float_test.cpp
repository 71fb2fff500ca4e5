// SPDX-License-Identifier: Apache-2.0
// Float activations: every kernel and every format stays within the derived bound of the sum in double, and
// reads single weights exactly.
#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace {

using namespace edgeq;
using test::for_each_kernel;
using test::run_layer;

// The largest error seen, in parts of the bound, is recorded: a bound that is never approached proves little.
template <class F>
void expect_within_bound(std::size_t dynamic, std::initializer_list<std::size_t> depths) {
  constexpr std::size_t m = 9, n = 37;
  double worst = 0.0;
  for (const std::size_t k : depths) {
    SCOPED_TRACE("K = " + std::to_string(k));
    const auto weights = test::random_weights<F>(n, k, dynamic, k);
    const auto view = weights.view();
    const auto x = test::random_floats(m * k, k + 1), bias = test::random_floats(n, k + 2);
    for (const bool has_bias : {false, true}) {
      std::vector<test::FloatReference> exact;
      for (std::size_t i = 0; i < m * n; ++i)
        exact.push_back(test::float_reference<F>(view, i % n, &x[i / n * k], has_bias ? bias[i % n] : 0.0f));
      const AnyLinear layer = test::pack<F, F32>(view, has_bias ? bias : std::vector<float>());
      for_each_kernel(layer, [&](const AnyLinear& kernel, const char*) {
        for (const std::size_t rows : {1u, 2u, 3u, 4u, 5u, 9u}) {
          const auto y = run_layer(kernel, x.data(), rows, test::LastTaskFirst{rows % 2 ? 1u : 3u});
          for (std::size_t i = 0; i < y.size(); ++i) {
            const double error = std::fabs(y[i] - exact[i].value),
                         bound = test::float_bound(k) * exact[i].magnitude;
            ASSERT_LE(error, bound) << "y[" << i / n << ", " << i % n << "] of " << rows << " rows";
            if (bound != 0.0) worst = std::max(worst, error / bound);
          }
        }
      });
    }
  }
  testing::Test::RecordProperty("largest error in percent of the bound", static_cast<int>(100 * worst));
  std::printf("largest error / bound: %.3f\n", worst);
  EXPECT_GT(worst, 0.0) << "nothing was rounded: the data are too simple";
}

// x = e_k picks single weights. The sum of the other products is 0, so y has the one rounding of decode().
template <class F>
void expect_single_weights_exact(std::size_t dynamic, std::size_t k) {
  constexpr std::size_t n = 19;
  const auto weights = test::random_weights<F>(n, k, dynamic, 3);
  const auto view = weights.view();
  std::vector<float> x(k * k, 0.0f);
  for (std::size_t i = 0; i < k; ++i) x[i * k + i] = 1.0f;
  for_each_kernel(test::pack<F, F32>(view), [&](const AnyLinear& kernel, const char*) {
    const auto y = run_layer(kernel, x.data(), k);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], F::decode(view, i % n, i / n)) << "W[" << i % n << ", " << i / n << "]";
  });
}

template <class F>
class FloatActivation : public testing::Test {};
using Formats = testing::Types<Int4<32, BFloat16>, Int4<per_tensor, float>, Int4Zero<20, Float16>,
                               Int4Min<48, float>, Int8<640, Float16>, Int8Zero<per_channel, BFloat16>,
                               Int8Min<dynamic_group, Float16>, F32Weight, F16Weight, Bf16Weight>;
TYPED_TEST_SUITE(FloatActivation, Formats, );

TYPED_TEST(FloatActivation, StaysWithinTheBound) {
  expect_within_bound<TypeParam>(24, {1, 31, 77, 257, 1291});
}
TYPED_TEST(FloatActivation, ReadsSingleWeightsExactly) {
  expect_single_weights_exact<TypeParam>(24, 83);
  expect_single_weights_exact<TypeParam>(7, 33);
}

// The bound must include the bias: beside a bias of 1 a product of 2^-30 is lost.
TEST(FloatActivationBias, IsRoundedToo) {
  test::Weights<F32Weight> weights(1, 1);
  weights.values[0] = 0x1p-30f;
  const float one = 1.0f;
  for_each_kernel(
      test::pack<F32Weight, F32>(weights.view(), {1.0f}),
      [&](const AnyLinear& kernel, const char*) { EXPECT_EQ(run_layer(kernel, &one, 1)[0], 1.0f); });
}

}
