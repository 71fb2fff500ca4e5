// SPDX-License-Identifier: Apache-2.0
// The 8-bit power of two that scales blocks of the OCP Microscaling formats.
#pragma once
#include <bit>
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// 2^(bits - 127), for bits of 255 NaN: E8M0 of the OCP Microscaling Formats (MX) Specification, version 1.0,
/// section 5.4.1. It has no sign and no zero.
struct E8M0 {
  static constexpr const char* name = "e8m0";
  std::uint8_t bits = 0;

  /// Exact; 2^-127 is a subnormal float.
  constexpr float to_float() const noexcept {
    if (bits == 0) return std::bit_cast<float>(0x00400000u);
    if (bits == 255) return std::bit_cast<float>(0x7FC00000u);
    return std::bit_cast<float>(std::uint32_t{bits} << 23);
  }
};

}
