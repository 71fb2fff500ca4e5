// SPDX-License-Identifier: Apache-2.0
// bf16 tile kernels stay within the documented bound of the sum in double and read single weights exactly:
// every codec and offset, M in 1..33, K and N off every multiple.
#include <gtest/gtest.h>

#include "support/amx/tile_layer.hpp"

namespace {

using namespace edgeq;

/// |w| as Bf16's bound counts it: the value of the code and what the zero or the minimum adds, each by
/// itself.
template <class F>
double magnitude(const test::Weights<F>& w, std::size_t n, std::size_t k) {
  if constexpr (F::is_integer) {
    const double scale = std::fabs(w.scale(n, k));
    return scale * (std::abs(w.code(n, k) - w.from) + std::abs(w.from - w.zero(n, k))) +
           std::fabs(w.minimum(n, k));
  } else {
    return std::fabs(w.value(n, k));
  }
}

template <class F>
void expect_within_bound(std::size_t k, std::size_t dynamic = 0) {
  constexpr std::size_t m = 33, n = 37;
  SCOPED_TRACE("K = " + std::to_string(k));
  const auto weights = test::random_weights<F>(n, k, dynamic, k);
  const auto view = weights.view();
  auto x = test::random_floats(m * k, k + 1);
  const auto bias = test::random_floats(n, k + 2);
  std::vector<double> exact(m * n), bound(m * n);
  for (std::size_t i = 0; i < m * n; ++i) {
    double value = bias[i % n], sum = std::fabs(bias[i % n]);
    for (std::size_t j = 0; j < k; ++j) {
      const double rounded = BFloat16::from_float(x[i / n * k + j]).to_float();
      value += rounded * F::decode(view, i % n, j);
      sum += std::fabs(rounded) * magnitude(weights, i % n, j);
    }
    exact[i] = value;
    bound[i] = static_cast<double>(k + 8) * 0x1p-23 * sum;
  }
  double worst = 0.0;
  test::for_each_tile_kernel<F, Bf16>(view, bias, [&](const AnyLinear& kernel) {
    for (const std::size_t rows : {1u, 8u, 17u, 33u}) {
      const auto y = test::run_layer(kernel, x.data(), rows, test::LastTaskFirst{rows % 2 + 1});
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double error = std::fabs(y[i] - exact[i]);
        ASSERT_LE(error, bound[i]) << "y[" << i / n << ", " << i % n << "] of " << rows << " rows";
        if (bound[i] != 0.0) worst = std::max(worst, error / bound[i]);
      }
      EXPECT_FALSE(amx_emulator::tiles_configured());
    }
  });
  EXPECT_GT(worst, 0.0) << "nothing was rounded: the data are too simple";
}

TEST(TileBf16, Nibbles) {
  expect_within_bound<Int4<32>>(71);
  expect_within_bound<Int4Zero<128, Float16>>(300);
  expect_within_bound<Int4Min<48, Float16>>(143);
}
TEST(TileBf16, Bytes) {
  expect_within_bound<Int8<128>>(257);
  expect_within_bound<Int8Zero<per_channel, float>>(1037);
  expect_within_bound<Int8Min<20, float>>(61);
}
TEST(TileBf16, Bf16Weights) {
  expect_within_bound<Bf16Weight>(1);
  expect_within_bound<Bf16Weight>(513);
}
TEST(TileBf16, TablesAndSuperBlocks) {
  expect_within_bound<MxFp4>(71);
  expect_within_bound<Iq4Nl<32>>(130);
  expect_within_bound<Q4K>(300);
  expect_within_bound<Q6K>(300);
}
TEST(TileBf16, GroupKnownAtRunTimeOnly) {
  expect_within_bound<Int4<dynamic_group>>(613, 100);
}

/// y of unit rows is the column of W that each picks.
template <class F>
void expect_single_weights(const typename F::View& view) {
  std::vector<float> x(view.k * view.k, 0.0f);
  for (std::size_t i = 0; i < view.k; ++i) x[i * view.k + i] = 1.0f;
  test::for_each_tile_kernel<F, Bf16>(view, {}, [&](const AnyLinear& kernel) {
    const auto y = test::run_layer(kernel, x.data(), view.k);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float expected = F::decode(view, i % view.n, i / view.n);
      ASSERT_TRUE(test::same(y[i], expected) || y[i] == expected)
          << "W[" << i % view.n << ", " << i / view.n << "] is " << y[i] << ", not " << expected;
    }
  });
}

template <class Element>
void expect_all_codes() {
  using F = Fp8Block<16, 40, Element>;
  constexpr std::size_t n = 256, k = 83;
  std::vector<std::uint8_t> codes(n * k, 0);
  const std::vector<float> scales = test::random_floats((n / 16) * 3, 1);
  // Row n holds code n at one k, and nothing beside it: a NaN must not reach another row's sum.
  for (std::size_t row = 0; row < n; ++row) codes[row * k + row % k] = static_cast<std::uint8_t>(row);
  typename F::View view{n, k, codes, scales};
  std::vector<float> x(k, 1.0f);
  test::for_each_tile_kernel<F, Bf16>(view, {}, [&](const AnyLinear& kernel) {
    const auto y = test::run_layer(kernel, x.data(), 1);
    for (std::size_t row = 0; row < n; ++row) {
      const float expected = F::decode(view, row, row % k);
      EXPECT_TRUE(test::same(y[row], expected) || y[row] == expected)
          << "code " << row << ": " << y[row] << ", not " << expected;
    }
  });
}
TEST(TileBf16, All256CodesOfFp8) {
  expect_all_codes<Float8E4M3>();
  expect_all_codes<Float8E5M2>();
}
TEST(TileBf16, ReadsSingleWeightsExactly) {
  const auto nibbles = test::random_weights<Int4<32>>(19, 83, 0, 3);
  expect_single_weights<Int4<32>>(nibbles.view());
  const auto bytes = test::random_weights<Int8Zero<20, float>>(19, 83, 0, 3);
  expect_single_weights<Int8Zero<20, float>>(bytes.view());
  const auto floats = test::random_weights<Bf16Weight>(19, 83, 0, 3);
  expect_single_weights<Bf16Weight>(floats.view());
}

}
