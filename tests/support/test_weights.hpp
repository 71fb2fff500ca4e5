// SPDX-License-Identifier: Apache-2.0
// Weights of every format for tests, kept as plain arrays whose meaning is spelled out here and not taken
// from the library.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "edgeq/format/formats.hpp"

namespace test {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(bits() % limit); }
  /// Uniform in [-1, 1), a multiple of 2^-23: zero-mean.
  float symmetric() {
    return static_cast<float>(static_cast<std::int64_t>(bits() >> 40) - (1 << 23)) * 0x1p-23f;
  }

 private:
  std::uint64_t state_;
};

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random.symmetric();
  return values;
}

/// The value of a stored float by the rules of IEEE 754, bit field by bit field.
template <class T>
double value_of(T stored) {
  if constexpr (std::is_same_v<T, float>) {
    return stored;
  } else {
    constexpr int fraction_bits = std::is_same_v<T, edgeq::Float16> ? 10 : 7;
    constexpr int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int fraction = stored.bits & ((1 << fraction_bits) - 1);
    const int exponent = stored.bits >> fraction_bits & ((1 << exponent_bits) - 1);
    const double sign = stored.bits >> 15 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }
}

/// W [N, K] in format F.
template <class F>
struct Weights;

/// Integer codes: value = scale * (code - zero), or scale * code + minimum.
template <class F>
requires F::is_integer struct Weights<F> {
  using Scale = typename F::Scale;
  static constexpr int bits = F::Codec::bits;
  static constexpr bool has_zeros = F::Offset::has_zeros, has_minima = F::Offset::has_minima;
  static constexpr int largest_code = (1 << bits) - 1, midpoint = 1 << (bits - 1);

  std::size_t n, k, group, groups, row_bytes;
  std::vector<std::uint8_t> codes;
  std::vector<Scale> scales, minima;
  std::vector<std::uint8_t> zeros;

  /// All codes and scales 0. `dynamic` is the group size of a format with dynamic_group. What is left of the
  /// last byte of a row is set, as nobody may read it.
  Weights(std::size_t n_in, std::size_t k_in, std::size_t dynamic = 0)
      : n(n_in),
        k(k_in),
        group(F::group > 0                       ? static_cast<std::size_t>(F::group)
              : F::group == edgeq::dynamic_group ? dynamic
                                                 : k),
        groups(k == 0 ? 0 : (k + group - 1) / group),
        row_bytes((k * bits + 7) / 8),
        codes(n * row_bytes, 0) {
    const std::size_t count = F::group == edgeq::per_tensor ? (n * k == 0 ? 0 : 1) : n * groups;
    scales.resize(count);
    if (has_minima) minima.resize(count);
    if (has_zeros) zeros.resize(count);
    if (bits == 4 && k % 2 == 1)
      for (std::size_t row = 0; row < n; ++row) codes[(row + 1) * row_bytes - 1] = 0xF0;
  }

  std::size_t scale_index(std::size_t row, std::size_t column) const {
    return F::group == edgeq::per_tensor ? 0 : row * groups + column / group;
  }
  int code(std::size_t row, std::size_t column) const {
    if (bits == 8) return codes[row * row_bytes + column];
    const int byte = codes[row * row_bytes + column / 2];
    return column % 2 == 0 ? byte % 16 : byte / 16;
  }
  void set_code(std::size_t row, std::size_t column, int code) {
    std::uint8_t& byte = codes[row * row_bytes + column * bits / 8];
    if (bits == 8)
      byte = static_cast<std::uint8_t>(code);
    else
      byte = static_cast<std::uint8_t>(column % 2 == 0 ? byte / 16 * 16 + code : byte % 16 + code * 16);
  }
  void set_codes(int code) {
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < k; ++column) set_code(row, column, code);
  }
  void set_scales(float scale) { scales.assign(scales.size(), edgeq::from_float<Scale>(scale)); }

  int zero(std::size_t row, std::size_t column) const {
    if (has_minima) return 0;
    return has_zeros ? zeros[scale_index(row, column)] : midpoint;
  }
  double scale(std::size_t row, std::size_t column) const {
    return value_of(scales[scale_index(row, column)]);
  }
  double minimum(std::size_t row, std::size_t column) const {
    return has_minima ? value_of(minima[scale_index(row, column)]) : 0.0;
  }
  /// W[n, k], rounded to float once: the double is exact for scales of random_weights, as all terms are
  /// multiples of 2^-30 below 2^12.
  float value(std::size_t row, std::size_t column) const {
    const int difference = code(row, column) - zero(row, column);
    return static_cast<float>(scale(row, column) * difference + minimum(row, column));
  }

  /// A view of the first `rows` rows.
  typename F::View view(std::size_t rows) const {
    const std::size_t count = F::group == edgeq::per_tensor ? (rows * k == 0 ? 0 : 1) : rows * groups;
    typename F::View view{rows, k, std::span(codes).first(rows * row_bytes), std::span(scales).first(count)};
    if (has_minima) view.minima = std::span(minima).first(count);
    if (has_zeros) view.zeros = std::span(zeros).first(count);
    view.dynamic = F::group == edgeq::dynamic_group ? group : 0;
    return view;
  }
  typename F::View view() const { return view(n); }
};

/// Floats as they are.
template <class F>
requires(!F::is_integer) struct Weights<F> {
  using Element = typename F::Element;
  std::size_t n, k;
  std::vector<Element> values;

  Weights(std::size_t n_in, std::size_t k_in, std::size_t = 0) : n(n_in), k(k_in), values(n * k) {}
  float value(std::size_t row, std::size_t column) const {
    return static_cast<float>(value_of(values[row * k + column]));
  }
  typename F::View view(std::size_t rows) const { return {rows, k, std::span(values).first(rows * k)}; }
  typename F::View view() const { return view(n); }
};

/// Uniform codes and zeros; scales and minima of either sign, within a factor of 256 of one another, some 0.
template <class F>
Weights<F> random_weights(std::size_t n, std::size_t k, std::size_t dynamic, std::uint64_t seed) {
  Random random(seed);
  Weights<F> weights(n, k, dynamic);
  const auto scale = [&] {
    if (random.below(16) == 0) return 0.0f;
    return std::ldexp(random.symmetric(), -static_cast<int>(random.below(8)));
  };
  if constexpr (F::is_integer) {
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < k; ++column)
        weights.set_code(row, column, static_cast<int>(random.below(weights.largest_code + 1)));
    for (auto& value : weights.scales) value = edgeq::from_float<typename F::Scale>(scale());
    for (auto& value : weights.minima) value = edgeq::from_float<typename F::Scale>(8.0f * scale());
    for (auto& value : weights.zeros)
      value = static_cast<std::uint8_t>(random.below(weights.largest_code + 1));
  } else {
    for (auto& value : weights.values) value = edgeq::from_float<typename F::Element>(scale());
  }
  return weights;
}

}
