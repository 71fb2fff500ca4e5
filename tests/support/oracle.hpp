// SPDX-License-Identifier: Apache-2.0
// The numerics contract in plain scalar code: what every kernel must return, to the bit for integer
// activations and within a derived bound for float ones.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "edgeq/activation/activation.hpp"
#include "support/test_weights.hpp"

namespace test {

/// One row of x as codes, with one scale and zero point, or a scale for each group.
struct QuantizedRow {
  std::vector<int> codes;
  std::vector<float> scales;
  int zero = 0;  ///< x is about scale * (code - zero)
};

inline bool all_finite(const float* begin, const float* end) {
  return std::all_of(begin, end, [](float value) { return std::isfinite(value); });
}
/// To the nearest integer, ties to even.
inline int nearest(float value) {
  return static_cast<int>(std::nearbyint(static_cast<double>(value)));
}

/// Quantizes x[begin .. end - 1] with one scale. With a = max |x|: codes rne(x * (limit / a)), scale a /
/// limit, each operation rounded to float; all codes 0 and a scale of 0 or NaN if a is 0 or not finite. Below
/// 2^-100 the quotient limit / a could overflow: x and a are multiplied by 2^100 first, which is exact.
inline void quantize_range(const float* x, std::size_t begin, std::size_t end, int limit, QuantizedRow& row) {
  float largest = 0.0f;
  for (std::size_t k = begin; k < end; ++k) largest = std::max(largest, std::fabs(x[k]));
  if (!all_finite(x + begin, x + end)) return row.scales.push_back(std::numeric_limits<float>::quiet_NaN());
  row.scales.push_back(largest / static_cast<float>(limit));
  if (largest == 0.0f) return;
  const float before = largest < 0x1p-100f ? 0x1p100f : 1.0f;
  const float inverse = static_cast<float>(limit) / (largest * before);
  for (std::size_t k = begin; k < end; ++k) row.codes[k] = nearest(x[k] * before * inverse);
}

/// DynamicInt8Zero: 255 steps from the least of x and 0 to the greatest. Rows whose width overflows are
/// halved first and their scale doubled; narrow ones are multiplied by 2^100.
inline void quantize_with_zero(const float* x, std::size_t k, QuantizedRow& row) {
  float low = 0.0f, high = 0.0f;
  for (std::size_t i = 0; i < k; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  if (!all_finite(x, x + k)) return row.scales.push_back(std::numeric_limits<float>::quiet_NaN());
  const bool overflows = std::isinf(high - low);
  const float before = overflows ? 0.5f : high - low < 0x1p-100f ? 0x1p100f : 1.0f;
  const float width = high * before - low * before;
  row.scales.push_back(overflows ? 2.0f * (width / 255.0f) : (high - low) / 255.0f);
  if (width == 0.0f) return;
  const float inverse = 255.0f / width;
  row.zero = nearest(-low * before * inverse) - 128;
  for (std::size_t i = 0; i < k; ++i)
    row.codes[i] = std::min(nearest(x[i] * before * inverse) + row.zero, 127);
}

/// StaticInt8: a division, as ONNX QuantizeLinear has it; its quotient may be infinite.
inline void quantize_to(const edgeq::ActivationRange& range, const float* x, std::size_t k,
                        QuantizedRow& row) {
  if (!all_finite(x, x + k)) return row.scales.push_back(std::numeric_limits<float>::quiet_NaN());
  row.scales.push_back(range.scale);
  row.zero = range.zero;
  for (std::size_t i = 0; i < k; ++i) {
    const float quotient = x[i] / range.scale;
    const double code = std::nearbyint(static_cast<double>(quotient)) + range.zero;
    row.codes[i] = static_cast<int>(std::clamp(code, -128.0, 127.0));
  }
}

template <class Activation>
QuantizedRow quantize_row(const float* x, std::size_t k, std::size_t group,
                          const edgeq::ActivationRange& range) {
  constexpr int limit = Activation::bits == 8 ? 127 : 127 * 256;
  QuantizedRow row;
  row.codes.assign(k, 0);
  if (Activation::is_static)
    quantize_to(range, x, k, row);
  else if (Activation::has_zero)
    quantize_with_zero(x, k, row);
  else if (!Activation::per_group || k == 0)
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
  return F::Offset::has_zeros || (F::Codec::bits == 8 && Weights<F>::from == 0) ? 256 : 512;
}

/// y [M, N] for x [M, K] and a bias [N] or none, by the contract: integer sums of blocks, scaled and added in
/// ascending k with one rounding each, then the zero point of x times the sum of the column's weights. The
/// flag `exact` says that every integer sum fits in 32 bits.
template <class F, class Activation>
std::vector<float> integer_model(const Weights<F>& w, const std::vector<float>& x, std::size_t m,
                                 const std::vector<float>& bias, bool* exact = nullptr,
                                 const edgeq::ActivationRange& range = {}) {
  std::vector<QuantizedRow> rows;
  for (std::size_t i = 0; i < m; ++i)
    rows.push_back(quantize_row<Activation>(x.data() + i * w.k, w.k, w.group, range));
  std::vector<float> y(m * w.n);
  std::vector<int> difference(w.k);
  for (std::size_t n = 0; n < w.n; ++n) {
    double column_sum = 0.0;
    for (std::size_t k = 0; k < w.k; ++k) {
      difference[k] = w.code(n, k) - w.zero(n, k);
      column_sum += static_cast<double>(w.value(n, k));
    }
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
      if (Activation::has_zero)
        out = std::fma(-static_cast<float>(rows[i].zero), static_cast<float>(column_sum), out);
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

/// |w| as the bound of activation A counts it: of Bf16, whose kernels may sum x times codes apart from what a
/// zero or minimum adds, both parts. Codes count from the midpoint, or from the minimum where there is one.
template <class A, class F>
double magnitude(const Weights<F>& w, std::size_t n, std::size_t k) {
  if constexpr (F::is_integer && std::is_same_v<A, edgeq::Bf16>) {
    const int from = w.from;
    const double of_code = w.scale(n, k) * (w.code(n, k) - from);
    return std::fabs(of_code) + std::fabs(w.scale(n, k) * (from - w.zero(n, k)) + w.minimum(n, k));
  } else {
    return std::fabs(static_cast<double>(w.value(n, k)));
  }
}

/// y [M, N] for x [M, K], which activation A may round, and a bias [N] or none.
template <class F, class A>
std::vector<FloatReference> float_model(const Weights<F>& w, const std::vector<float>& x, std::size_t m,
                                        const std::vector<float>& bias) {
  using Rounded = std::conditional_t<std::is_same_v<A, edgeq::Bf16>, edgeq::BFloat16, float>;
  std::vector<double> rounded_x, value(w.k), size(w.k);
  for (std::size_t i = 0; i < m * w.k; ++i) rounded_x.push_back(nearest_value<Rounded>(x[i]));
  std::vector<FloatReference> y(m * w.n);
  for (std::size_t n = 0; n < w.n; ++n) {
    for (std::size_t k = 0; k < w.k; ++k) {
      value[k] = static_cast<double>(w.value(n, k));
      size[k] = magnitude<A>(w, n, k);
    }
    for (std::size_t i = 0; i < m; ++i) {
      FloatReference& result = y[i * w.n + n];
      if (!bias.empty()) result = {bias[n], std::fabs(bias[n])};
      for (std::size_t k = 0; k < w.k; ++k) {
        result.value += rounded_x[i * w.k + k] * value[k];
        result.magnitude += std::fabs(rounded_x[i * w.k + k]) * size[k];
      }
    }
  }
  return y;
}

/// A float sum of K products and a bias errs by at most this times the sum of magnitudes, whatever its order.
///
/// F32: a term x * w is rounded once as a product, once for each addition on its way to the top of the tree
/// of sums, once by the scale of its group (then the product itself was exact or the scale is part of the
/// weight), and once by the bias. A chain of K fused steps has K roundings, B blocks make at most K - B + 1
/// of them inside a block and B between blocks: K + 1. With one for the bias and one for the scale that
/// decode() has already rounded into its weight: K + 3, each of at most 2^-24; n of them compound to n u / (1
/// - n u).
///
/// Bf16: what its numerics promise of x once rounded, (K + 8) * 2^-23.
template <class A = edgeq::F32>
double float_bound(std::size_t k) {
  if (std::is_same_v<A, edgeq::Bf16>) return static_cast<double>(k + 8) * 0x1p-23;
  const double n_u = static_cast<double>(k + 3) * 0x1p-24;
  return n_u / (1.0 - n_u);
}

}
