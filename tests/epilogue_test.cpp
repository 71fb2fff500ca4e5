// SPDX-License-Identifier: Apache-2.0
// Epilogues against the same formulas in double, whichever of xsimd batches and plain floats runs them.
#include "edgeq/epilogue/epilogue.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

using namespace edgeq;

// Each formula is a handful of correctly rounded operations around one exp or tanh, of which both std and
// xsimd promise 2 units in the last place; exp(-x) enters with condition number |x| <= 16, so 2^-24 * (16 + 8
// operations) bounds the relative error, and an absolute floor covers results that underflow towards 0.
constexpr double bound = 24.0 / 16777216.0;

std::vector<float> inputs() {
  std::vector<float> x;
  for (int i = -160; i <= 160; ++i) x.push_back(static_cast<float>(i) * 0.1f);
  return x;
}

template <class Function, class Reference>
void expect_close(const Function& function, const Reference& reference) {
  const std::vector<float> x = inputs();
  for (std::size_t count : {x.size(), std::size_t{1}, std::size_t{0}, std::size_t{7}}) {
    std::vector<float> y(x.size(), -77.0f);
    apply(function, y.data(), count, x.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i >= count) {
        EXPECT_EQ(y[i], -77.0f) << "written past the end";
      } else {
        const double expected = reference(static_cast<double>(x[i]));
        EXPECT_NEAR(y[i], expected, bound * std::max(std::fabs(expected), 1e-6)) << "x = " << x[i];
      }
    }
  }
}

TEST(Epilogue, SiluIsXTimesTheLogisticFunction) {
  expect_close(epilogue::Silu{}, [](double x) { return x / (1 + std::exp(-x)); });
}

TEST(Epilogue, ReluClipsAtZero) {
  expect_close(epilogue::Relu{}, [](double x) { return x > 0 ? x : 0.0; });
}

TEST(Epilogue, SwiGluMultipliesByTheSecondInput) {
  const std::vector<float> gate = inputs();
  std::vector<float> up(gate.rbegin(), gate.rend()), y(gate.size());
  apply(epilogue::SwiGlu{}, y.data(), y.size(), gate.data(), up.data());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double g = gate[i], expected = g / (1 + std::exp(-g)) * up[i];
    EXPECT_NEAR(y[i], expected, bound * std::max(std::fabs(expected), 1e-6));
  }
}

// 1 + tanh cancels for negative x: the error is that of tanh near -1, 2^-24 * (1 + 2), times |x| / 2, plus
// the rounding of the argument (4 operations), which tanh damps.
TEST(Epilogue, GeluFollowsTheTanhForm) {
  const std::vector<float> x = inputs();
  std::vector<float> y(x.size());
  apply(epilogue::Gelu{}, y.data(), y.size(), x.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i],
                 expected = 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
    EXPECT_NEAR(y[i], expected, 8.0 / 16777216.0 * (std::fabs(v) + 1)) << "x = " << v;
  }
}

TEST(Epilogue, ActsOnTheRowsOfAStridedMatrixOnly) {
  std::vector<float> y(5 * 10, -3.0f);
  apply(epilogue::Relu{}, MatrixView<float>(y.data(), 5, 7, 10));
  for (std::size_t m = 0; m < 5; ++m)
    for (std::size_t n = 0; n < 10; ++n) EXPECT_EQ(y[m * 10 + n], n < 7 ? 0.0f : -3.0f);
}

}
