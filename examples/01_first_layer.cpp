// SPDX-License-Identifier: Apache-2.0
// The shortest way from 4-bit weights in memory to y = x Wᵀ + b.
#include <cstdio>
#include <vector>

#include "edgeq/linear.hpp"

int main() {
  // W [N, K]: codes of 4 bits, value = scale * (code - 8), one bf16 scale for each 48 consecutive k.
  constexpr std::size_t N = 20, K = 96, group = 48;
  std::vector<std::uint8_t> codes(N * K / 2);
  std::vector<edgeq::BFloat16> scales(N * K / group);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * 37 + 11);
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] = edgeq::BFloat16::from_float(0.01f * static_cast<float>(i + 1));

  auto layer = edgeq::Linear<edgeq::Int4<group>>::pack({.n = N, .k = K, .codes = codes, .scales = scales});
  if (!layer) return std::fprintf(stderr, "%s\n", layer.error().message.c_str()), 1;

  std::vector<float> x(K, 0.25f), y(N);
  edgeq::Prepared workspace;  // keep it: it allocates once
  if (auto status = layer->prepare(workspace, {x.data(), 1, K}); !status)
    return std::fprintf(stderr, "%s\n", status.error().message.c_str()), 1;
  layer->run(workspace, {y.data(), 1, N});

  std::printf("%s", layer->plan(1).to_string().c_str());
  for (float v : y) std::printf("%g ", static_cast<double>(v));
  std::printf("\n");
}
