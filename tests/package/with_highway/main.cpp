// SPDX-License-Identifier: Apache-2.0
// The consumer's own Highway code works beside edgeq, whose Highway kernels give the contract's bits.
#include <cstdio>
#include <edgeq/linear.hpp>
#include <vector>

#include "support/integer_model.hpp"

void twice(float* x);   // highway_first.cpp
void thrice(float* x);  // edgeq_first.cpp

int main() {
  float x[4] = {1, 2, 3, 4};
  twice(x);
  thrice(x);
  for (int i = 0; i < 4; ++i)
    if (x[i] != 6.0f * static_cast<float>(i + 1)) return 2;

  const integer_model::Problem p(3, 37, 203, 48);
  std::vector<edgeq::BFloat16> scales;
  for (const std::uint16_t bits : p.scales) scales.push_back({bits});
  const auto layer = edgeq::Linear<edgeq::Int4<48>>::pack(
      {.n = p.n, .k = p.k, .codes = p.codes, .scales = scales}, std::span<const float>(p.bias));
  const auto portable = layer->only("highway");
  if (!portable) {
    std::printf("%s\n", portable.error().message.c_str());
    return 3;
  }
  std::vector<float> y(p.m * p.n);
  edgeq::Prepared prepared;
  if (!portable->prepare(prepared, {p.x.data(), p.m, p.k})) return 4;
  portable->run(prepared, {y.data(), p.m, p.n});
  return integer_model::hash(y) == integer_model::hash(integer_model::multiply(p, 32512)) ? 0 : 1;
}
