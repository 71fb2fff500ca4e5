// SPDX-License-Identifier: Apache-2.0
// Weights of every format for tests, kept as plain arrays whose meaning is spelled out here and not taken
// from the library.
#pragma once
#include "edgeq/format/formats.hpp"
#include "support/stored_values.hpp"

namespace test {

/// W [N, K] in format F.
template <class F>
struct Weights;

/// Codes with a scale per group: value = scale * (level - zero), or scale * level + minimum.
template <class CodecType, class OffsetType, int Group, class ScaleType>
struct Weights<edgeq::GroupQuantized<CodecType, OffsetType, Group, ScaleType>> {
  using F = edgeq::GroupQuantized<CodecType, OffsetType, Group, ScaleType>;
  using Scale = ScaleType;
  using Level = Levels<CodecType>;
  static constexpr int bits = F::Codec::bits;
  static constexpr bool has_zeros = F::Offset::has_zeros, has_minima = F::Offset::has_minima;
  static constexpr int largest_code = (1 << bits) - 1, midpoint = Level::midpoint;
  /// The level whose weight is 0, or the minimum.
  static constexpr int from = std::is_same_v<OffsetType, edgeq::offset::FloatMinimum> ? 0 : midpoint;

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
  int stored_code(std::size_t row, std::size_t column) const {
    if (bits == 8) return codes[row * row_bytes + column];
    const int byte = codes[row * row_bytes + column / 2];
    return column % 2 == 0 ? byte % 16 : byte / 16;
  }
  /// The level of a weight; an integer, but for NF4.
  double level(std::size_t row, std::size_t column) const { return Level::of(stored_code(row, column)); }
  int code(std::size_t row, std::size_t column) const { return static_cast<int>(level(row, column)); }
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
  void set_scales(float scale) { scales.assign(scales.size(), stored_near<Scale>(scale)); }

  int zero(std::size_t row, std::size_t column) const {
    return has_zeros ? zeros[scale_index(row, column)] : from;
  }
  double scale(std::size_t row, std::size_t column) const {
    return value_of(scales[scale_index(row, column)]) * Level::unit;
  }
  double minimum(std::size_t row, std::size_t column) const {
    return has_minima ? value_of(minima[scale_index(row, column)]) : 0.0;
  }
  /// W[n, k], rounded to float once: the double is exact for scales of random_weights, as all terms are
  /// multiples of 2^-30 below 2^12, or of NF4 products of two floats.
  float value(std::size_t row, std::size_t column) const {
    const double difference = level(row, column) - zero(row, column);
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

  /// Uniform codes and zeros; scales and minima as `scale` gives them.
  template <class Draw>
  void randomize(Random& random, const Draw& scale_in) {
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < k; ++column)
        set_code(row, column, static_cast<int>(random.below(largest_code + 1)));
    for (Scale& value : scales) value = stored_near<Scale>(scale_in());
    for (Scale& value : minima) value = stored_near<Scale>(8.0f * scale_in());
    for (std::uint8_t& value : zeros) value = static_cast<std::uint8_t>(random.below(largest_code + 1));
  }
};

/// ggml's Q4_K, d * s * code - dmin * m, and Q6_K, d * s * (code - 32).
template <class Codec, class Offset, class Headers>
struct Weights<edgeq::SuperBlock<Codec, Offset, Headers>> {
  using F = edgeq::SuperBlock<Codec, Offset, Headers>;
  static constexpr bool has_zeros = false, has_minima = Codec::bits == 4;
  static constexpr int bits = Codec::bits, largest_code = (1 << bits) - 1, midpoint = 1 << (bits - 1);
  static constexpr int from = has_minima ? 0 : midpoint;

  std::size_t n, k, group = has_minima ? 32 : 16, groups, blocks, row_bytes;
  std::vector<std::uint8_t> codes;
  std::vector<edgeq::GroupFactors> factors;
  std::vector<edgeq::Float16> scales, minima;

  Weights(std::size_t n_in, std::size_t k_in, std::size_t = 0)
      : n(n_in),
        k(k_in),
        groups((k + group - 1) / group),
        blocks((k + 255) / 256),
        row_bytes(bits == 4 ? (k + 1) / 2 : k),
        codes(n * row_bytes),
        factors(n * groups),
        scales(n * blocks),
        minima(has_minima ? n * blocks : 0) {}

  int code(std::size_t row, std::size_t column) const {
    const int byte = codes[row * row_bytes + (bits == 4 ? column / 2 : column)];
    return bits != 4 ? byte : column % 2 == 0 ? byte % 16 : byte / 16;
  }
  int zero(std::size_t, std::size_t) const { return from; }
  double scale(std::size_t row, std::size_t column) const {
    return value_of(scales[row * blocks + column / 256]) * factors[row * groups + column / group].scale;
  }
  double minimum(std::size_t row, std::size_t column) const {
    if (!has_minima) return 0.0;
    return -value_of(minima[row * blocks + column / 256]) * factors[row * groups + column / group].minimum;
  }
  /// W[n, k], rounded to float once: exact in double.
  float value(std::size_t row, std::size_t column) const {
    return static_cast<float>(scale(row, column) * (code(row, column) - from) + minimum(row, column));
  }

  typename F::View view(std::size_t rows) const {
    return {rows,
            k,
            std::span(codes).first(rows * row_bytes),
            std::span(factors).first(rows * groups),
            std::span(scales).first(rows * blocks),
            std::span(minima).first(has_minima ? rows * blocks : 0)};
  }
  typename F::View view() const { return view(n); }

  template <class Draw>
  void randomize(Random& random, const Draw& scale_in) {
    const std::size_t largest = bits == 4 ? 256 : 64;  // two codes in a byte, or one
    for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random.below(largest));
    for (edgeq::GroupFactors& f : factors)
      f = has_minima
              ? edgeq::GroupFactors{static_cast<int>(random.below(64)), static_cast<int>(random.below(64))}
              : edgeq::GroupFactors{static_cast<int>(random.below(256)) - 128, 0};
    for (edgeq::Float16& value : scales) value = edgeq::Float16::from_float(0.0625f * scale_in());
    for (edgeq::Float16& value : minima) value = edgeq::Float16::from_float(0.25f * scale_in());
  }
};

/// Floats as they are.
template <class ElementType>
struct Weights<edgeq::FloatWeight<ElementType>> {
  using F = edgeq::FloatWeight<ElementType>;
  using Element = ElementType;
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
  if constexpr (requires { weights.randomize(random, scale); }) {
    weights.randomize(random, scale);
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
