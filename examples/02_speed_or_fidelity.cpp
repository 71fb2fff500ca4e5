// SPDX-License-Identifier: Apache-2.0
// One set of packed weights under three activations: what 8 and 16 bits of x cost in accuracy.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "edgeq/linear.hpp"

int main() {
  constexpr std::size_t N = 64, K = 2048;
  std::mt19937 random(1);
  std::vector<std::uint8_t> codes(N * K / 2);
  std::vector<edgeq::BFloat16> scales(N * K / 128);
  for (auto& c : codes) c = static_cast<std::uint8_t>(random());
  for (auto& s : scales) s = edgeq::BFloat16::from_float(0.01f + 0.01f * static_cast<float>(random() % 100));
  std::vector<float> x(K);
  for (float& v : x) v = std::normal_distribution<float>()(random);

  using Weights = edgeq::Int4<128>;
  auto faithful = edgeq::Linear<Weights>::pack({.n = N, .k = K, .codes = codes, .scales = scales});
  if (!faithful) return std::fprintf(stderr, "%s\n", faithful.error().message.c_str()), 1;
  auto fast = faithful->with<edgeq::DynamicInt8>();  // the same panels: nothing is packed again
  auto exact = faithful->with<edgeq::F32>();
  if (!fast || !exact) return 1;

  const auto multiply = [&](const edgeq::AnyLinear& layer) {
    std::vector<float> y(N);
    edgeq::Prepared workspace;
    if (layer.prepare(workspace, {x.data(), 1, K})) layer.run(workspace, {y.data(), 1, N});
    return y;
  };
  const std::vector<float> reference = multiply(*exact);
  for (const edgeq::AnyLinear* layer :
       {static_cast<const edgeq::AnyLinear*>(&*fast), static_cast<const edgeq::AnyLinear*>(&*faithful)}) {
    const std::vector<float> y = multiply(*layer);
    double error = 0, norm = 0;
    for (std::size_t n = 0; n < N; ++n) {
      error += std::pow(y[n] - reference[n], 2);
      norm += std::pow(reference[n], 2);
    }
    std::printf("%-6s relative error %.1e\n", layer->activation(), std::sqrt(error / norm));
  }
}
