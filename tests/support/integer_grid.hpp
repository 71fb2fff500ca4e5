// SPDX-License-Identifier: Apache-2.0
// One sweep of an integer format over shapes, activations, kernels and threads, compared with the scalar
// model to the bit.
#pragma once
#include <cmath>
#include <limits>
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

/// Seventeen rows [17, K] for activations with a zero point: to one side of 0, far from it, wider than float,
/// narrower than 2^-100, and full of ties.
inline std::vector<float> one_sided_rows(std::size_t k, std::uint64_t seed) {
  constexpr float largest = std::numeric_limits<float>::max();
  Random random(seed);
  std::vector<float> x(17 * k);
  const auto fill = [&](std::size_t m, std::initializer_list<float> first, const auto& rest) {
    for (std::size_t i = 0; i < k; ++i) x[m * k + i] = i < first.size() ? first.begin()[i] : rest(i);
  };
  const auto above = [&] { return std::fabs(random.symmetric()); };
  fill(0, {}, [&](std::size_t) { return above(); });
  fill(1, {}, [&](std::size_t) { return -3.0f * above(); });
  fill(2, {}, [&](std::size_t) { return 3.0f + above(); });
  // Ties as far as a division can meet them: (j + 1/2) steps of 1/20 and of 7/10, which are no powers of two.
  fill(3, {}, [&](std::size_t i) { return (static_cast<float>(i % 300) - 149.5f) * 0.05f; });
  fill(4, {178.5f}, [&](std::size_t i) { return (static_cast<float>(i % 254) + 0.5f) * 0.7f; });
  // A step of 1, and ties of either parity; then both ends round away from the middle, to 256 steps.
  fill(5, {255.0f}, [&](std::size_t) { return 0.5f * static_cast<float>(random.below(511)); });
  fill(6, {127.5f, -127.5f},
       [&](std::size_t) { return 0.5f * static_cast<float>(random.below(511)) - 127.5f; });
  // high - low: infinite, just below, and infinite by the lower end.
  fill(7, {largest, -largest}, [&](std::size_t) { return largest * random.symmetric(); });
  fill(8, {0x1.fp126f, -0x1.fp126f}, [&](std::size_t) { return 0x1.fp126f * random.symmetric(); });
  fill(9, {0x1p125f, -largest}, [&](std::size_t) { return -largest * above(); });
  // Measured by high - low: above and below 2^-100, subnormal, and the least there is.
  fill(10, {0x1.8p-101f, -0x1.8p-101f}, [&](std::size_t) { return 0x1.8p-101f * random.symmetric(); });
  fill(11, {}, [&](std::size_t) { return 0x1p-101f * above(); });
  fill(12, {0x1p-130f}, [&](std::size_t) { return 0x1p-132f * random.symmetric(); });
  fill(13, {0x1p-149f}, [&](std::size_t i) { return i % 3 == 0 ? -0x1p-149f : -0.0f; });
  fill(14, {-0.0f, -5.0f}, [](std::size_t) { return 0.0f; });
  fill(15, {}, [](std::size_t) { return 0.7f; });
  fill(16, {}, [&](std::size_t i) { return i + 1 == k ? std::nanf("") : above(); });
  return x;
}

/// Every `step`-th shape of the grid from `first` on.
struct Part {
  std::size_t first = 0, step = 1;
};

template <class F, class Activation>
void expect_model_of_rows(const Weights<F>& weights, const std::vector<float>& x,
                          const std::vector<float>& bias, const std::vector<edgeq::AnyLinear>& layers,
                          const edgeq::ActivationRange& range = {}, const Part& part = {}) {
  bool exact = true;
  const std::vector<float> none,
      with_bias = integer_model<F, Activation>(weights, x, 17, bias, &exact, range),
      without = integer_model<F, Activation>(weights, x, 17, none, nullptr, range);
  ASSERT_TRUE(exact) << "the model itself overflows";
  for (std::size_t i = part.first; i < std::size(grid_shapes); i += part.step) {
    const auto [m, n] = grid_shapes[i];
    auto layer = layers[i].with(Activation::name);
    ASSERT_TRUE(layer) << layer.error().message;
    if (Activation::is_static) layer = layer->with_range(range);
    for_each_kernel(*layer, [&, m = m, n = n](const edgeq::AnyLinear& kernel, const char*) {
      for (const std::size_t tasks : {1u, 3u})
        expect_same(run_layer(kernel, x.data(), m, LastTaskFirst{tasks}), m, n, i % 2 ? with_bias : without,
                    weights.n);
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Ranges whose zero is at either end, in the middle and between; which saturate both ways, one way and not
/// at all; whose scale is a power of two and is none, and at the ends of the range of float.
inline constexpr edgeq::ActivationRange static_ranges[] = {
    {0.05f, 3}, {0.7f, -128}, {0x1p-6f, 127}, {1.0f, 0}, {0.01f, -7}, {0x1p-140f, 5}, {0x1.8p122f, -1}};

template <class F, class Activation>
void expect_model_of_activation(const Weights<F>& weights, const std::vector<float>& x,
                                const std::vector<float>& bias, const std::vector<edgeq::AnyLinear>& layers) {
  if constexpr (!Activation::is_static) {
    expect_model_of_rows<F, Activation>(weights, x, bias, layers);
    if constexpr (Activation::has_zero)
      expect_model_of_rows<F, Activation>(weights, one_sided_rows(weights.k, weights.k + 3), bias, layers);
  } else {
    // Each range meets three shapes, others at the next K.
    constexpr std::size_t ranges = std::size(static_ranges);
    const std::vector<float> one_sided = one_sided_rows(weights.k, weights.k + 3);
    for (std::size_t i = 0; i < ranges; ++i) {
      const edgeq::ActivationRange& range = static_ranges[(i + weights.k) % ranges];
      SCOPED_TRACE("scale " + std::to_string(range.scale) + ", zero " + std::to_string(range.zero));
      for (const std::vector<float>* rows : {&x, &one_sided})
        expect_model_of_rows<F, Activation>(weights, *rows, bias, layers, range, {i, ranges});
    }
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
