// SPDX-License-Identifier: Apache-2.0
// GGUF's K-quants: super-blocks of 256 elements in groups of 16 or 32, whose scales are small integers times
// one f16 (ggml's block_q2_K ... block_q6_K).
//
// Exactness: a group's scale is d * s and its minimum -(dmin * m), with d and dmin of 11 significant bits and
// integers s and m of at most 7, so both are f32 numbers. A scale times a code of at most 6 bits has at most
// 24 bits: the format's fma(scale, code, minimum) rounds once, like ggml's d * s * q - dmin * m.
#pragma once
#include "edgeq/import/gguf_blocks.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

/// The 2-bit field of element e in fields of 128 elements over 32 bytes: byte e mod 32 has the elements e,
/// e + 32, e + 64 and e + 96 from its lowest bits on.
constexpr std::uint8_t block_crumb(const std::uint8_t* q, std::size_t e) noexcept {
  return static_cast<std::uint8_t>(q[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3);
}

/// The product of the f16 at `b` and a small integer, exact.
inline float block_scale(const std::uint8_t* b, int factor) noexcept {
  return block_half(b).to_float() * static_cast<float>(factor);
}

struct Q2_K {  // d * s * code2 - dmin * m; one byte for s and m
  static constexpr TensorType type = TensorType::q2_k;
  using Format = Int4Min<16, float>;
  static float scale(const std::uint8_t* b, std::size_t g) noexcept { return block_scale(b + 80, b[g] & 15); }
  static float minimum(const std::uint8_t* b, std::size_t g) noexcept {
    return -block_scale(b + 82, b[g] >> 4);
  }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_crumb(b + 16, e);
  }
};

struct Q3_K {  // d * (s6 - 32) * (code3 - 4) = d * (s6 - 32) * (code3 + 4 - 8)
  static constexpr TensorType type = TensorType::q3_k;
  using Format = Int4<16, float>;
  static float scale(const std::uint8_t* b, std::size_t g) noexcept {
    const std::uint8_t* s = b + 96;
    const int low = block_nibble(s, g, 8), high = s[8 + g % 4] >> (g / 4 * 2) & 3;
    return block_scale(b + 108, (low | high << 4) - 32);
  }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    const int high = b[e % 32] >> (e / 32) & 1;
    return static_cast<std::uint8_t>((block_crumb(b + 32, e) | high << 2) + 4);
  }
};

/// The header of Q4_K and Q5_K: d, dmin, and eight pairs of 6-bit integers (s, m) in 12 bytes. The first four
/// pairs fill the low 6 bits of bytes 0 to 3 and 4 to 7; of the others the low nibbles are bytes 8 to 11 (s,
/// then m), the high bits those that the first pairs left free.
struct SixBitPairs {
  static constexpr GroupFactors factors(const std::uint8_t* b, std::size_t g) noexcept {
    const std::uint8_t* s = b + 4;
    if (g < 4) return {s[g] & 63, s[g + 4] & 63};
    return {(s[g + 4] & 15) | s[g - 4] >> 6 << 4, s[g + 4] >> 4 | s[g] >> 6 << 4};
  }
  /// Element e of nibbles that are stored 64 at a time: 32 low halves, then 32 high ones.
  static constexpr std::uint8_t nibble(const std::uint8_t* q, std::size_t e) noexcept {
    return block_nibble(q + e / 64 * 32, e % 64, 32);
  }
};

struct Q4_K : SixBitPairs {  // d * s * nibble - dmin * m
  static constexpr TensorType type = TensorType::q4_k;
  using Format = Q4K;
  static Float16 block_scale(const std::uint8_t* b) noexcept { return block_half(b); }
  static Float16 block_minimum(const std::uint8_t* b) noexcept { return block_half(b + 2); }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return nibble(b + 16, e);
  }
};

struct Q5_K : SixBitPairs {  // d * s * code5 - dmin * m
  static constexpr TensorType type = TensorType::q5_k;
  using Format = Int8Min<32, float>;
  static float scale(const std::uint8_t* b, std::size_t g) noexcept {
    return block_scale(b, factors(b, g).scale);
  }
  static float minimum(const std::uint8_t* b, std::size_t g) noexcept {
    return -block_scale(b + 2, factors(b, g).minimum);
  }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return static_cast<std::uint8_t>(nibble(b + 48, e) | (b[16 + e % 32] >> (e / 32) & 1) << 4);
  }
};

struct Q6_K {  // d * s8 * (code6 - 32)
  static constexpr TensorType type = TensorType::q6_k;
  using Format = Q6K;
  static Float16 block_scale(const std::uint8_t* b) noexcept { return block_half(b + 208); }
  static constexpr GroupFactors factors(const std::uint8_t* b, std::size_t g) noexcept {
    return {static_cast<std::int8_t>(b[192 + g]), 0};
  }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    const int low = block_nibble(b + e / 128 * 64, e % 128, 64);
    return static_cast<std::uint8_t>(low | block_crumb(b + 128, e) << 4);
  }
};

}
