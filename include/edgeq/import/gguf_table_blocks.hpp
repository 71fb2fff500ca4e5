// SPDX-License-Identifier: Apache-2.0
// GGUF's types whose codes name entries of a table: 4-bit floats and ggml's levels of a normal distribution.
#pragma once
#include "edgeq/import/gguf_blocks.hpp"

namespace edgeq::inline EDGEQ_BASELINE::gguf {

struct MXFP4 {  // 2^(e - 127) * E2M1; e of 255 is NaN, as the OCP says, where ggml has 2^128
  static constexpr TensorType type = TensorType::mxfp4;
  using Format = MxFp4;
  static E8M0 scale(const std::uint8_t* b, std::size_t) noexcept { return E8M0{b[0]}; }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 1, e);
  }
};

struct NVFP4 {  // E4M3 * E2M1 for each 16 elements; the pattern 7F is NaN, where ggml has 0
  static constexpr TensorType type = TensorType::nvfp4;
  using Format = Fp4<16, Float8E4M3>;
  static Float8E4M3 scale(const std::uint8_t* b, std::size_t g) noexcept { return Float8E4M3{b[g]}; }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 4 + e / 16 * 8, e % 16, 8);
  }
};

struct IQ4_NL : HalfScale {  // d * table[nibble]
  static constexpr TensorType type = TensorType::iq4_nl;
  using Format = Iq4Nl<32, Float16>;
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 2, e);
  }
};

struct IQ4_XS {  // d * (s6 - 32) * table[nibble]
  static constexpr TensorType type = TensorType::iq4_xs;
  using Format = Iq4Nl<32, float>;
  static float scale(const std::uint8_t* b, std::size_t g) noexcept {
    const int low = b[4 + g / 2] >> (g % 2 * 4) & 15, high = (b[2 + g / 4] >> (g % 4 * 2)) & 3;
    return block_half(b).to_float() * static_cast<float>((low | high << 4) - 32);
  }
  static constexpr std::uint8_t code(const std::uint8_t* b, std::size_t e) noexcept {
    return block_nibble(b + 8 + e / 32 * 16, e % 32);
  }
};

}
