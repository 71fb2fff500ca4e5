// SPDX-License-Identifier: Apache-2.0
// The numerics contract in plain scalar code: what every kernel must return, to the bit for integer
// activations and within a derived bound for float ones.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/test_weights.hpp"

namespace test {

/// One row of x as codes, with one scale, or one for each group.
struct QuantizedRow {
  std::vector<int> codes;
  std::vector<float> scales;
};

/// Quantizes x[begin .. end - 1] with one scale. With a = max |x|: codes rne(x * (limit / a)), scale a /
/// limit, each operation rounded to float; all codes 0 and a scale of 0 or NaN if a is 0 or not finite. Below
/// 2^-100 the quotient limit / a could overflow: x and a are multiplied by 2^100 first, which is exact.
inline void quantize_range(const float* x, std::size_t begin, std::size_t end, int limit, QuantizedRow& row) {
  float largest = 0.0f;
  bool finite = true;
  for (std::size_t k = begin; k < end; ++k) {
    finite = finite && std::isfinite(x[k]);
    largest = std::max(largest, std::fabs(x[k]));
  }
  if (!finite) return row.scales.push_back(std::numeric_limits<float>::quiet_NaN());
  row.scales.push_back(largest / static_cast<float>(limit));
  if (largest == 0.0f) return;
  const float before = largest < 0x1p-100f ? 0x1p100f : 1.0f;
  const float inverse = static_cast<float>(limit) / (largest * before);
  for (std::size_t k = begin; k < end; ++k) {
    const float scaled = x[k] * before * inverse;
    row.codes[k] = static_cast<int>(std::nearbyint(static_cast<double>(scaled)));
  }
}

template <class Activation>
QuantizedRow quantize_row(const float* x, std::size_t k, std::size_t group) {
  constexpr int limit = Activation::bits == 8 ? 127 : 127 * 256;
  QuantizedRow row;
  row.codes.assign(k, 0);
  if (!Activation::per_group || k == 0)
    quantize_range(x, 0, k, limit, row);
  else
    for (std::size_t begin = 0; begin < k; begin += group)
      quantize_range(x, begin, std::min(begin + group, k), limit, row);
  return row;
}

/// Consecutive k of one group that are summed as integers before the sum is scaled: as many, in powers of
/// two, as keep every sum of (code - zero) * x below 2^31 for x of 16 bits.
template <class F>
constexpr std::size_t longest_block() {
  return F::Offset::has_zeros || (F::Codec::bits == 8 && F::Offset::has_minima) ? 256 : 512;
}

/// y [M, N] for x [M, K] and a bias [N] or none, by the contract: integer sums of blocks, scaled and added in
/// ascending k with one rounding each. The flag `exact` says that every integer sum fits in 32 bits.
template <class F, class Activation>
std::vector<float> integer_model(const Weights<F>& w, const std::vector<float>& x, std::size_t m,
                                 const std::vector<float>& bias, bool* exact = nullptr) {
  std::vector<QuantizedRow> rows;
  for (std::size_t i = 0; i < m; ++i)
    rows.push_back(quantize_row<Activation>(x.data() + i * w.k, w.k, w.group));
  std::vector<float> y(m * w.n);
  std::vector<int> difference(w.k);
  for (std::size_t n = 0; n < w.n; ++n) {
    for (std::size_t k = 0; k < w.k; ++k) difference[k] = w.code(n, k) - w.zero(n, k);
    for (std::size_t i = 0; i < m; ++i) {
      float out = 0.0f;
      for (std::size_t group = 0; group < w.k; group += w.group) {
        const std::size_t group_end = std::min(group + w.group, w.k);
        const float activation_scale = Activation::per_group ? rows[i].scales[group / w.group] : 1.0f;
        const float scale = static_cast<float>(w.scale(n, group)) * activation_scale;
        const float minimum = static_cast<float>(w.minimum(n, group)) * activation_scale;
        for (std::size_t begin = group; begin < group_end; begin += longest_block<F>()) {
          const std::size_t end = std::min(begin + longest_block<F>(), group_end);
          std::int64_t sum = 0, sum_of_x = 0;
          for (std::size_t k = begin; k < end; ++k) {
            sum += std::int64_t{difference[k]} * rows[i].codes[k];
            sum_of_x += rows[i].codes[k];
          }
          if (exact != nullptr && std::abs(sum) > 0x7FFFFFFF) *exact = false;
          out = std::fma(static_cast<float>(sum), scale, out);
          if (w.has_minima) out = std::fma(static_cast<float>(sum_of_x), minimum, out);
        }
      }
      float& result = y[i * w.n + n];
      if (Activation::per_group)
        result = bias.empty() ? out : out + bias[n];
      else
        result = bias.empty() ? out * rows[i].scales[0] : std::fma(out, rows[i].scales[0], bias[n]);
    }
  }
  return y;
}

/// x . W[n] + bias in double, and the sum of the magnitudes of its terms.
struct FloatReference {
  double value = 0.0;
  double magnitude = 0.0;
};

template <class F>
FloatReference float_reference(const typename F::View& view, std::size_t n, const float* x, float bias) {
  FloatReference result{bias, std::fabs(bias)};
  for (std::size_t k = 0; k < view.k; ++k) {
    const double product = static_cast<double>(x[k]) * F::decode(view, n, k);
    result.value += product;
    result.magnitude += std::fabs(product);
  }
  return result;
}

/// A float sum of K products and a bias errs by at most this times the sum of magnitudes, whatever its order.
///
/// A term x * w is rounded once as a product, once for each addition on its way to the top of the tree of
/// sums, once by the scale of its group (then the product itself was exact or the scale is part of the
/// weight), and once by the bias. A chain of K fused steps has K roundings, B blocks make at most K - B + 1
/// of them inside a block and B between blocks: K + 1. With one for the bias and one for the scale that
/// decode() has already rounded into its weight: K + 3, each of at most 2^-24; n of them compound to n u / (1
/// - n u).
inline double float_bound(std::size_t k) {
  const double n_u = static_cast<double>(k + 3) * 0x1p-24;
  return n_u / (1.0 - n_u);
}

}
