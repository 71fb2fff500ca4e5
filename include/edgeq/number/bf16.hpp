// SPDX-License-Identifier: Apache-2.0
// bfloat16 as a storage type: the upper half of an IEEE binary32.
#pragma once
#include <bit>
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// A stored bfloat16: 1 sign, 8 exponent, 7 fraction bits. No arithmetic; convert to float for that.
struct BFloat16 {
  static constexpr const char* name = "bf16";
  std::uint16_t bits = 0;

  /// Exact. Subnormals, infinities and NaN payloads survive.
  constexpr float to_float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

  /// Rounds to nearest even. A NaN stays a NaN (made quiet), values above the largest finite become infinite.
  static constexpr BFloat16 from_float(float value) noexcept {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>(u >> 16 | 0x40u)};
    return {static_cast<std::uint16_t>((u + 0x7FFFu + (u >> 16 & 1u)) >> 16)};
  }
};

}
