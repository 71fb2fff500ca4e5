// SPDX-License-Identifier: Apache-2.0
// The two 8-bit floats of the OCP 8-bit Floating Point Specification (OFP8, revision 1.0) as storage types.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A float of 1 sign, 7 - FractionBits exponent and FractionBits fraction bits. No arithmetic; convert to
/// float for that. Where the format has no infinities, the largest pattern of either sign is NaN and the
/// exponent field of all ones holds numbers besides.
template <int FractionBits, bool HasInfinities>
struct Float8 {
  static constexpr int fraction_bits = FractionBits;
  static constexpr bool has_infinities = HasInfinities;
  static constexpr int bias = (1 << (6 - FractionBits)) - 1;
  /// Patterns without sign from here on are NaN or infinite.
  static constexpr std::uint32_t first_special = HasInfinities ? 0x80u - (1u << FractionBits) : 0x7Fu;
  static constexpr const char* name = FractionBits == 3 ? "e4m3" : "e5m2";
  std::uint8_t bits = 0;

  /// Exact, subnormals and both zeros included.
  constexpr float to_float() const noexcept {
    const std::uint32_t sign = std::uint32_t{bits} >> 7 << 31, magnitude = bits & 0x7Fu;
    if (magnitude >= first_special)
      return std::bit_cast<float>(sign |
                                  (HasInfinities && magnitude == first_special ? 0x7F800000u : 0x7FC00000u));
    // A subnormal is a small integer times 2^(1 - bias - FractionBits), exact in float.
    constexpr float unit = std::bit_cast<float>(static_cast<std::uint32_t>(128 - bias - FractionBits) << 23);
    if (magnitude >> FractionBits == 0)
      return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * unit));
    return std::bit_cast<float>(
        sign | ((magnitude << (23 - FractionBits)) + (static_cast<std::uint32_t>(127 - bias) << 23)));
  }

  /// Rounds to nearest even, to subnormals too, and saturates to the largest finite value. NaN stays NaN, and
  /// infinities do where there are any.
  static constexpr Float8 from_float(float value) noexcept {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(value), magnitude = u & 0x7FFFFFFFu;
    const auto with_sign = [&](std::uint32_t pattern) {
      return Float8{static_cast<std::uint8_t>((u >> 24 & 0x80u) | pattern)};
    };
    if (magnitude > 0x7F800000u) return with_sign(0x7Fu);
    if (magnitude == 0x7F800000u && HasInfinities) return with_sign(first_special);
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    // Bits to drop: more of them below the smallest normal number, 2^(1 - bias).
    const int drop = 23 - FractionBits + (exponent < 1 - bias ? 1 - bias - exponent : 0);
    if (drop > 24) return with_sign(0);  // below half of the smallest subnormal
    const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    const std::uint32_t rest = significand & ((1u << drop) - 1u), half = 1u << (drop - 1);
    std::uint32_t pattern = significand >> drop;
    if (rest > half || (rest == half && (pattern & 1u) != 0)) ++pattern;
    // The significand's leading one is the unit of the exponent field.
    if (exponent >= 1 - bias) pattern += static_cast<std::uint32_t>(exponent + bias - 1) << FractionBits;
    return with_sign(pattern < first_special ? pattern : first_special - 1);
  }
};

/// 4 exponent bits (bias 7), 3 fraction bits; largest 448, smallest subnormal 2^-9; 0x7F and 0xFF are NaN,
/// there are no infinities. "float8_e4m3fn" elsewhere.
using Float8E4M3 = Float8<3, false>;
/// 5 exponent bits (bias 15), 2 fraction bits; largest 57344, smallest subnormal 2^-16; infinities and NaN as
/// in IEEE 754.
using Float8E5M2 = Float8<2, true>;

}
