// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 as a storage type.
#pragma once
#include <bit>
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A stored IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. No arithmetic; convert to float
/// for that.
struct Float16 {
  static constexpr const char* name = "f16";
  std::uint16_t bits = 0;

  /// Exact, subnormals included. Integer arithmetic only, so neither -ffast-math nor a flush-to-zero mode can
  /// change it.
  constexpr float to_float() const noexcept {
    const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
    std::uint32_t exponent = bits >> 10 & 31u;
    std::uint32_t fraction = bits & 0x3FFu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
    if (exponent == 0) {
      if (fraction == 0) return std::bit_cast<float>(sign);
      // 2^-14 * 0.fraction: move the leading one to bit 10.
      const int shift = std::countl_zero(fraction) - 21;
      fraction = fraction << shift & 0x3FFu;
      exponent = static_cast<std::uint32_t>(1 - shift);
      return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
    }
    return std::bit_cast<float>(sign | (exponent + 112u) << 23 | fraction << 13);
  }

  /// Rounds to nearest even, to subnormals too. NaN stays NaN (made quiet); 65520 and above become infinite.
  static constexpr Float16 from_float(float value) noexcept {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = u >> 16 & 0x8000u;
    const std::uint32_t magnitude = u & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
      return {static_cast<std::uint16_t>(sign | 0x7E00u | (magnitude >> 13 & 0x3FFu))};
    if (magnitude >= 0x477FF000u) return {static_cast<std::uint16_t>(sign | 0x7C00u)};  // 65520
    if (magnitude < 0x33000001u) return {static_cast<std::uint16_t>(sign)};  // at most 2^-25: ties to zero
    const std::uint32_t exponent = magnitude >> 23;
    std::uint32_t fraction = magnitude & 0x7FFFFFu, drop = 13, head = (exponent - 112u) << 10;
    if (exponent < 113) {  // below 2^-14: a subnormal, its leading one explicit
      fraction |= 0x800000u;
      drop = 126u - exponent;
      head = 0;
    }
    std::uint32_t rounded = head + (fraction >> drop);
    const std::uint32_t rest = fraction & ((1u << drop) - 1u), half = 1u << (drop - 1u);
    if (rest > half || (rest == half && (rounded & 1u))) ++rounded;
    return {static_cast<std::uint16_t>(sign | rounded)};
  }
};

}
