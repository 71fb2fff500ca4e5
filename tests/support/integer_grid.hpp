// SPDX-License-Identifier: Apache-2.0
// One sweep of an integer format over shapes, activations, kernels and threads, compared with the scalar
// model to the bit.
#pragma once
#include <cmath>
#include <vector>

#include "support/oracle.hpp"
#include "support/run_layer.hpp"

namespace test {

/// Seventeen rows [17, K] of very different size; one zero, one with an outlier, one with NaN, one with Inf.
inline std::vector<float> difficult_rows(std::size_t k, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(17 * k);
  for (std::size_t m = 0; m < 17; ++m) {
    const float size = m == 7 ? 0x1p120f : m == 8 ? 0x1p-130f : std::ldexp(1.0f, static_cast<int>(m) - 5);
    for (std::size_t i = 0; i < k; ++i) x[m * k + i] = m == 3 ? -0.0f : size * random.symmetric();
    if (k == 0) continue;
    if (m == 5) x[m * k + random.below(k)] = 300.0f;
    if (m == 11) x[m * k + random.below(k)] = std::nanf("");
    if (m == 13) x[m * k + random.below(k)] = -HUGE_VALF;
  }
  return x;
}

/// M and N off every tile and panel, each M at one N and each N at two M.
inline constexpr std::size_t grid_shapes[][2] = {
    {1, 37}, {2, 37}, {3, 37}, {4, 37}, {5, 37}, {6, 37},  {7, 37}, {8, 37}, {9, 37},  {17, 37},
    {1, 1},  {6, 1},  {1, 15}, {6, 15}, {1, 16}, {17, 16}, {1, 17}, {6, 17}, {1, 130}, {9, 130}};

template <class F, class Activation>
void expect_model_of_activation(const Weights<F>& weights, const std::vector<float>& x,
                                const std::vector<float>& bias, const std::vector<edgeq::AnyLinear>& layers) {
  bool exact = true;
  const std::vector<float> none, with_bias = integer_model<F, Activation>(weights, x, 17, bias, &exact),
                                 without = integer_model<F, Activation>(weights, x, 17, none);
  ASSERT_TRUE(exact) << "the model itself overflows";
  for (std::size_t i = 0; i < std::size(grid_shapes); ++i) {
    const auto [m, n] = grid_shapes[i];
    const auto layer = layers[i].with(Activation::name);
    ASSERT_TRUE(layer) << layer.error().message;
    for_each_kernel(*layer, [&, m = m, n = n](const edgeq::AnyLinear& kernel, const char*) {
      for (const std::size_t tasks : {1u, 3u})
        expect_same(run_layer(kernel, x.data(), m, LastTaskFirst{tasks}), m, n, i % 2 ? with_bias : without,
                    weights.n);
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// For every K of `depths`: every shape of the grid, with and without a bias in turn.
template <class F, class... Activations>
void expect_integer_model(std::initializer_list<std::size_t> depths, std::size_t dynamic = 0) {
  for (const std::size_t k : depths) {
    SCOPED_TRACE("K = " + std::to_string(k));
    const Weights<F> weights = random_weights<F>(130, k, dynamic, k);
    const std::vector<float> x = difficult_rows(k, k + 1), bias = random_floats(130, k + 2);
    std::vector<edgeq::AnyLinear> layers;
    for (std::size_t i = 0; i < std::size(grid_shapes); ++i) {
      const std::size_t n = grid_shapes[i][1];
      layers.push_back(pack<F, Activations...>(
          weights.view(n), i % 2 ? std::vector(bias.begin(), bias.begin() + static_cast<std::ptrdiff_t>(n))
                                 : std::vector<float>()));
    }
    (expect_model_of_activation<F, Activations>(weights, x, bias, layers), ...);
  }
}

}
