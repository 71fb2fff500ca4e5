// SPDX-License-Identifier: Apache-2.0
// Weights of every format for tests, kept as plain arrays whose meaning is spelled out here and not taken
// from the library.
#pragma once
#include <algorithm>
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

/// The fields of a stored float of fewer than 32 bits, by the standards: IEEE 754 (binary16), its upper half
/// (bfloat16), and OFP8, whose E4M3 has no infinities and keeps one pattern of either sign for NaN.
template <class T>
struct Fields {
  static constexpr int fraction_bits = std::is_same_v<T, edgeq::Float16>      ? 10
                                       : std::is_same_v<T, edgeq::BFloat16>   ? 7
                                       : std::is_same_v<T, edgeq::Float8E4M3> ? 3
                                                                              : 2;
  static constexpr int bits = 8 * static_cast<int>(sizeof(T)), exponent_bits = bits - 1 - fraction_bits;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr bool has_infinities = !std::is_same_v<T, edgeq::Float8E4M3>;
};

/// The value of a stored float, bit field by bit field.
template <class T>
double value_of(T stored) {
  if constexpr (std::is_same_v<T, float>) {
    return stored;
  } else {
    using Of = Fields<T>;
    const int fraction = stored.bits & ((1 << Of::fraction_bits) - 1);
    const int exponent = stored.bits >> Of::fraction_bits & ((1 << Of::exponent_bits) - 1);
    const double sign = stored.bits >> (Of::bits - 1) ? -1.0 : 1.0;
    if (exponent == (1 << Of::exponent_bits) - 1) {
      if (Of::has_infinities) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
      if (fraction == (1 << Of::fraction_bits) - 1) return std::nan("");
    }
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - Of::bias - Of::fraction_bits);
    return sign * std::ldexp(fraction + (1 << Of::fraction_bits), exponent - Of::bias - Of::fraction_bits);
  }
}

/// The float rounded to the precision of T, ties to even; infinite beyond its largest number, as IEEE 754
/// says. Rounds in units of the last place, in double, where that is exact.
template <class T>
double nearest_value(float value) {
  if (std::is_same_v<T, float> || value == 0.0f || !std::isfinite(value)) return static_cast<double>(value);
  using Of = Fields<T>;
  const int exponent = std::max(std::ilogb(static_cast<double>(value)), 1 - Of::bias);
  const double unit = std::ldexp(1.0, exponent - Of::fraction_bits);
  const double rounded = std::nearbyint(static_cast<double>(value) / unit) * unit;
  const double beyond = std::ldexp(1.0, Of::bias + 1);
  return std::fabs(rounded) >= beyond ? std::copysign(HUGE_VAL, static_cast<double>(value)) : rounded;
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

/// 8-bit floats with a scale for each block of the matrix: value = scale * code.
template <class ElementType, int BlockN, int BlockK>
struct Weights<edgeq::ScaledFloat<ElementType, BlockN, BlockK>> {
  using Element = ElementType;
  using View = edgeq::ScaledFloatView<Element, BlockN, BlockK>;

  std::size_t n, k, block_n, group, groups;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;

  /// All codes and scales 0. Of a format with dynamic sides, a block is dynamic_n x dynamic_k.
  Weights(std::size_t n_in, std::size_t k_in, std::size_t dynamic_k = 0, std::size_t dynamic_n = 3)
      : n(n_in),
        k(k_in),
        block_n(BlockN > 0                       ? static_cast<std::size_t>(BlockN)
                : BlockN == edgeq::dynamic_group ? dynamic_n
                                                 : n),
        group(BlockK > 0                       ? static_cast<std::size_t>(BlockK)
              : BlockK == edgeq::dynamic_group ? dynamic_k
                                               : k),
        groups(k == 0 ? 0 : (k + group - 1) / group),
        codes(n * k),
        scales(n == 0 ? 0 : (n + block_n - 1) / block_n * groups) {}

  double code(std::size_t row, std::size_t column) const {
    return value_of(Element{codes[row * k + column]});
  }
  float scale(std::size_t row, std::size_t column) const {
    return scales[row / block_n * groups + column / group];
  }
  /// W[n, k], rounded to float once: the product of 4 and 24 bits is exact in double.
  float value(std::size_t row, std::size_t column) const {
    return static_cast<float>(code(row, column) * static_cast<double>(scale(row, column)));
  }

  /// A view of `rows` rows from `first` on: its scales begin with the block of row 0.
  View view(std::size_t first, std::size_t rows) const {
    View view;
    view.n = rows;
    view.k = k;
    view.codes = std::span(codes).subspan(first * k, rows * k);
    view.scales = std::span(scales).first(rows == 0 ? 0 : ((first + rows - 1) / block_n + 1) * groups);
    view.first_row = first;
    if (BlockN == edgeq::dynamic_group) view.dynamic_n = block_n;
    if (BlockK == edgeq::dynamic_group) view.dynamic_k = group;
    return view;
  }
  View view(std::size_t rows) const { return view(0, rows); }
  View view() const { return view(n); }
};

/// Uniform codes (of floats the finite ones) and zeros; scales and minima of either sign, within a factor of
/// 256 of one another, some 0.
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
  } else if constexpr (requires { weights.scales; }) {
    for (std::uint8_t& code : weights.codes) do
        code = static_cast<std::uint8_t>(random.below(256));
      while (!std::isfinite(value_of(typename F::Element{code})));
    for (float& value : weights.scales) value = scale();
  } else {
    for (auto& value : weights.values) value = edgeq::from_float<typename F::Element>(scale());
  }
  return weights;
}

}
