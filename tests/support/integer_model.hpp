// SPDX-License-Identifier: Apache-2.0
// What y must be for symmetric 4-bit weights, to the bit: the numerics contract in plain C++, without edgeq.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace integer_model {

/// W [n, k] of 4-bit codes (two to a byte, even k low) with a bf16 scale for each `group` of k, a bias [n],
/// and x [m, k], all made from a seed. A tenth of the scales are subnormal, as are some of the outputs.
struct Problem {
  std::size_t m, n, k, group;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint16_t> scales;
  std::vector<float> bias, x;

  Problem(std::size_t m_in, std::size_t n_in, std::size_t k_in, std::size_t group_in)
      : m(m_in), n(n_in), k(k_in), group(group_in), bias(n), x(m * k) {
    std::uint32_t state = 1;
    const auto random = [&state] {
      state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: its upper bits are good
      return state >> 16;
    };
    codes.resize(n * (k / 2 + k % 2));
    scales.resize(n * groups());
    for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(random());
    // Sign and 7 fraction bits at random; exponents of 2^-10 to 2^-3, or of a subnormal.
    for (std::uint16_t& s : scales) {
      const std::uint32_t exponent = random() % 10 == 0 ? 0 : 117 + random() % 8;
      s = static_cast<std::uint16_t>((random() % 2) << 15 | exponent << 7 | random() % 128);
    }
    for (float& v : bias) v = static_cast<float>(random() % 200) / 64.0f - 1.5f;
    for (float& v : x) v = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    // The first column's outputs are subnormal themselves.
    for (std::size_t g = 0; g < groups(); ++g) scales[g] = static_cast<std::uint16_t>(random() % 4);
    bias[0] = 0;
  }
  std::size_t groups() const { return (k + group - 1) / group; }
};

/// y [m, n] under activations quantized to `limit` = 127 or 32512.
inline std::vector<float> multiply(const Problem& p, int limit) {
  std::vector<float> y(p.m * p.n);
  std::vector<std::int64_t> q(p.k);
  for (std::size_t row = 0; row < p.m; ++row) {
    const float* x = p.x.data() + row * p.k;
    float largest = 0;
    for (std::size_t i = 0; i < p.k; ++i) largest = std::max(largest, std::abs(x[i]));
    const float inverse = largest == 0 ? 0 : static_cast<float>(limit) / largest;
    const float x_scale = largest / static_cast<float>(limit);
    for (std::size_t i = 0; i < p.k; ++i) {
      const float scaled = x[i] * inverse;  // nearbyint: to nearest even
      q[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(scaled)), -limit, limit);
    }
    for (std::size_t n = 0; n < p.n; ++n) {
      float out = 0;
      // One scale covers a group; at most 512 k are summed before the sum becomes a float.
      for (std::size_t begin = 0; begin < p.k; begin += p.group) {
        const std::uint32_t bits = std::uint32_t{p.scales[n * p.groups() + begin / p.group]} << 16;
        float scale;
        std::memcpy(&scale, &bits, sizeof scale);
        const std::size_t end = std::min(begin + p.group, p.k);
        for (std::size_t block = begin; block < end; block += 512) {
          std::int64_t sum = 0;
          for (std::size_t i = block; i < std::min(block + 512, end); ++i) {
            const int code = p.codes[n * (p.k / 2 + p.k % 2) + i / 2] >> (i % 2 * 4) & 15;
            sum += (code - 8) * q[i];
          }
          out = std::fma(static_cast<float>(sum), scale, out);
        }
      }
      y[row * p.n + n] = std::fma(out, x_scale, p.bias[n]);
    }
  }
  return y;
}

/// FNV-1a over the bytes of y: equal hashes, equal bits.
inline std::uint64_t hash(const std::vector<float>& y, std::uint64_t h = 14695981039346656037u) {
  for (const float v : y) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    for (int i = 0; i < 4; ++i) h = (h ^ (bits >> (8 * i) & 255)) * 1099511628211u;
  }
  return h;
}

}
