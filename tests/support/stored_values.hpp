// SPDX-License-Identifier: Apache-2.0
// Random numbers, and what stored floats and codes stand for, spelled out and not taken from the library.
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
  } else if constexpr (std::is_same_v<T, edgeq::E8M0>) {
    return stored.bits == 255 ? std::nan("") : std::ldexp(1.0, stored.bits - 127);
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

/// A float near `value` that T can store: for a power of two its magnitude alone.
template <class T>
T stored_near(float value) {
  if constexpr (std::is_same_v<T, edgeq::E8M0>)
    return {static_cast<std::uint8_t>(value == 0.0f ? 0 : 127 + std::ilogb(value))};
  else if constexpr (std::is_same_v<T, edgeq::Float8E4M3>)
    return T::from_float(value);
  else
    return edgeq::from_float<T>(value);
}

/// What the codes of a codec stand for, in units of `unit`: code - midpoint, or an entry of a table.
template <class Codec>
struct Levels {
  static constexpr double unit = 1.0;
  static double of(int code) { return code; }
  static constexpr int midpoint = 1 << (Codec::bits - 1);
};
template <>
struct Levels<edgeq::codec::E2M1> {
  static constexpr double unit = 0.5;
  static constexpr int midpoint = 0;
  static double of(int code) {
    constexpr double halves[] = {0, 1, 2, 3, 4, 6, 8, 12};
    return code < 8 ? halves[code] : -halves[code - 8];
  }
};
template <>
struct Levels<edgeq::codec::Iq4Nl> {
  static constexpr double unit = 1.0;
  static constexpr int midpoint = 0;
  static double of(int code) {
    constexpr double table[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    return table[code];
  }
};
template <>
struct Levels<edgeq::codec::Nf4> {
  static constexpr double unit = 1.0;
  static constexpr int midpoint = 0;
  static double of(int code) {
    constexpr float table[] = {
        -1.0f,      -0.6961928f, -0.52507305f, -0.3949175f, -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
        0.0795803f, 0.1609302f,  0.2461123f,   0.33791524f, 0.44070983f,  0.562617f,    0.72295684f,   1.0f};
    return static_cast<double>(table[code]);
  }
};

}
