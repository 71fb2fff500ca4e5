// SPDX-License-Identifier: Apache-2.0
// One sweep of a format under a float activation over shapes, kernels and threads, within the derived bound
// of the sum in double, and weight by weight.
#pragma once
#include <algorithm>
#include <cstdio>
#include <vector>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace test {

/// The leading rows of y are within the bound of activation A; returns the largest error in parts of it.
template <class A>
double expect_within_bound(const std::vector<float>& y, std::size_t n, std::size_t k,
                           const std::vector<FloatReference>& exact) {
  double worst = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = std::fabs(y[i] - exact[i].value), bound = float_bound<A>(k) * exact[i].magnitude;
    EXPECT_LE(error, bound) << "y[" << i / n << ", " << i % n << "] of " << y.size() / n << " rows: " << y[i]
                            << " for " << exact[i].value;
    if (!(error <= bound)) break;
    if (bound != 0.0) worst = std::max(worst, error / bound);
  }
  return worst;
}

/// Every kernel, K and M, with and without a bias. The largest error seen, in parts of the bound, is
/// recorded: a bound that is never approached proves little.
template <class F, class A>
void expect_within_bound(std::size_t dynamic, std::initializer_list<std::size_t> depths,
                         std::initializer_list<std::size_t> row_counts) {
  constexpr std::size_t n = 37;
  const std::size_t m = std::max(row_counts);
  double worst = 0.0;
  for (const std::size_t k : depths) {
    SCOPED_TRACE("K = " + std::to_string(k));
    const auto weights = random_weights<F>(n, k, dynamic, k);
    const auto x = random_floats(m * k, k + 1), some_bias = random_floats(n, k + 2);
    for (const std::vector<float>& bias : {std::vector<float>(), some_bias}) {
      const std::vector<FloatReference> exact = float_model<F, A>(weights, x, m, bias);
      for_each_kernel(pack<F, A>(weights.view(), bias), [&](const edgeq::AnyLinear& kernel, const char*) {
        for (const std::size_t rows : row_counts) {
          const auto y = run_layer(kernel, x.data(), rows, LastTaskFirst{rows % 2 ? 1u : 3u});
          worst = std::max(worst, expect_within_bound<A>(y, n, k, exact));
        }
      });
      if (testing::Test::HasFailure()) return;
    }
  }
  testing::Test::RecordProperty("largest error in percent of the bound", static_cast<int>(100 * worst));
  std::printf("largest error / bound: %.3f\n", worst);
  EXPECT_GT(worst, 0.0) << "nothing was rounded: the data are too simple";
}

/// x = e_k picks single weights. The sum of the other products is 0, so y has the one rounding of the weight
/// itself.
template <class F, class A>
void expect_single_weights_exact(const Weights<F>& weights) {
  const std::size_t n = weights.n, k = weights.k;
  std::vector<float> x(k * k, 0.0f);
  for (std::size_t i = 0; i < k; ++i) x[i * k + i] = 1.0f;
  for_each_kernel(pack<F, A>(weights.view()), [&](const edgeq::AnyLinear& kernel, const char*) {
    const auto y = run_layer(kernel, x.data(), k);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], weights.value(i % n, i / n)) << "W[" << i % n << ", " << i / n << "]";
  });
}

}
