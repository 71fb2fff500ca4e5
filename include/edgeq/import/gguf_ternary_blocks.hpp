// SPDX-License-Identifier: Apache-2.0
// GGUF's ternary types: blocks of 256 elements with one f16 scale (ggml's block_tq1_0 and block_tq2_0).
#pragma once
#include "edgeq/import/gguf_k_blocks.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

struct TQ1_0 {  // d * (trit - 1) = d * (trit + 7 - 8)
  static constexpr TensorType type = TensorType::tq1_0;
  using Format = Int4<256, Float16>;
  static Float16 scale(const std::uint8_t* b, std::size_t) noexcept { return block_half(b + 52); }
  /// Five trits to a byte, four in the last ones.
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    if (e < 160) return trit_code(b[e % 32], e / 32);
    if (e < 240) return trit_code(b[32 + (e - 160) % 16], (e - 160) / 16);
    return trit_code(b[48 + (e - 240) % 4], (e - 240) / 4);
  }

 private:
  /// A byte is a fraction of 256: a trit is the integer part of three times it, and the rest holds the next.
  static constexpr std::uint8_t trit_code(std::uint8_t byte, std::size_t place) noexcept {
    constexpr int powers_of_three[] = {1, 3, 9, 27, 81};
    const int fraction = byte * powers_of_three[place] & 255;
    return static_cast<std::uint8_t>((fraction * 3 >> 8) + 7);
  }
};

struct TQ2_0 {  // d * (code2 - 1) = d * (code2 + 7 - 8)
  static constexpr TensorType type = TensorType::tq2_0;
  using Format = Int4<256, Float16>;
  static Float16 scale(const std::uint8_t* b, std::size_t) noexcept { return block_half(b + 64); }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>(block_crumb(b, e) + 7);
  }
};

}
