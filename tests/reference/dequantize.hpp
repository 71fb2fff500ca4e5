// SPDX-License-Identifier: Apache-2.0
// What the stored elements of a GGUF tensor are worth, written a second time from the block layouts alone.
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "edgeq/import/gguf.hpp"

namespace reference {

/// The value of an IEEE binary16 number given by its bits; exact.
inline double from_f16(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int fraction = static_cast<int>(bits & 1023);
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits >> 15) == 0 ? magnitude : -magnitude;
}

/// The bytes of one block, read as the little-endian fields that it consists of.
class BlockBytes {
 public:
  explicit BlockBytes(const std::byte* bytes) : bytes_(bytes) {}

  std::uint32_t u8(std::size_t at) const { return std::to_integer<std::uint32_t>(bytes_[at]); }
  std::uint32_t u16(std::size_t at) const { return u8(at) | u8(at + 1) << 8; }
  std::uint32_t u32(std::size_t at) const { return u16(at) | u16(at + 2) << 16; }
  double f16(std::size_t at) const { return from_f16(u16(at)); }
  int i8(std::size_t at) const { return static_cast<std::int8_t>(u8(at)); }

  /// Code e of 32 four-bit codes in 16 bytes: elements 0 to 15 are the low halves, 16 to 31 the high ones.
  int nibble(std::size_t at, std::size_t e) const {
    return static_cast<int>(e < 16 ? u8(at + e) & 15 : u8(at + e - 16) >> 4);
  }
  /// Field i of `bits` bits among those that begin at a byte, from its lowest bits on.
  int field(std::size_t at, std::size_t bits, std::size_t i) const {
    return static_cast<int>(u8(at) >> bits * i & ((1u << bits) - 1));
  }
  /// Code e of 32 five-bit codes: the fifth bits are a word at `high_at`.
  int five_bits(std::size_t at, std::size_t high_at, std::size_t e) const {
    return nibble(at, e) + static_cast<int>((u32(high_at) >> e & 1) * 16);
  }

 private:
  const std::byte* bytes_;
};

/// The scale and the minimum, integers of 6 bits, of each 32 elements of a Q4_K or Q5_K block.
struct ScaleAndMinimum {
  int scale, minimum;

  ScaleAndMinimum(const BlockBytes& block, std::size_t j) {
    const std::size_t at = 4;
    if (j < 4) {
      scale = block.field(at + j, 6, 0);
      minimum = block.field(at + 4 + j, 6, 0);
    } else {
      scale = block.field(at + 4 + j, 4, 0) + 16 * block.field(at + j - 4, 2, 3);
      minimum = block.field(at + 4 + j, 4, 1) + 16 * block.field(at + j, 2, 3);
    }
  }
};

/// Level q of ggml's sixteen.
inline double level(int q) {
  constexpr int levels[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return levels[q];
}
/// A float of 1 sign, 2 exponent and 1 fraction bits.
inline double float4(int bits) {
  const int exponent = bits >> 1 & 3, fraction = bits & 1;
  const double magnitude = exponent == 0 ? 0.5 * fraction : std::ldexp(2 + fraction, exponent - 2);
  return bits < 8 ? magnitude : 0.0 - magnitude;
}

/// Element e of a block of 256: half h of 128 elements, row r of 32 elements in it, column c.
inline double super_block_element(edgeq::gguf::TensorType type, const BlockBytes& block, std::size_t e) {
  using edgeq::gguf::TensorType;
  const std::size_t h = e / 128, r = e % 128 / 32, c = e % 32, j = e / 32, g = e / 16;
  switch (type) {
    case TensorType::q2_k:
      return block.f16(80) * block.field(g, 4, 0) * block.field(16 + 32 * h + c, 2, r) -
             block.f16(82) * block.field(g, 4, 1);
    case TensorType::q3_k: {
      const int scale = block.field(96 + g % 8, 4, g / 8) + 16 * block.field(104 + g % 4, 2, g / 4);
      const int code = block.field(32 + 32 * h + c, 2, r) + 4 * block.field(c, 1, j);
      return block.f16(108) * (scale - 32) * (code - 4);
    }
    case TensorType::q4_k:
    case TensorType::q5_k: {
      const ScaleAndMinimum s(block, j);
      const bool five = type == TensorType::q5_k;
      const int code = block.field((five ? 48 : 16) + 32 * (e / 64) + c, 4, j % 2) +
                       (five ? 16 * block.field(16 + c, 1, j) : 0);
      return block.f16(0) * s.scale * code - block.f16(2) * s.minimum;
    }
    case TensorType::q6_k: {
      const int code =
          block.field(64 * h + 32 * (r % 2) + c, 4, r / 2) + 16 * block.field(128 + 32 * h + c, 2, r);
      return block.f16(208) * block.i8(192 + g) * (code - 32);
    }
    case TensorType::tq1_0: {
      // A byte is a fraction of 256, whose digits in base 3 are the elements; place is that of a digit.
      const std::size_t byte = e < 160 ? c : e < 240 ? 32 + e % 16 : 48 + e % 4;
      const std::size_t place = e < 160 ? j : e < 240 ? (e - 160) / 16 : (e - 240) / 4;
      std::uint32_t fraction = block.u8(byte);
      for (std::size_t i = 0; i < place; ++i) fraction = 3 * fraction % 256;
      return block.f16(52) * (static_cast<int>(3 * fraction / 256) - 1);
    }
    case TensorType::iq4_xs: {
      const int scale = block.field(4 + j / 2, 4, j % 2) + 16 * block.field(2 + j / 4, 2, j % 4);
      return block.f16(0) * (scale - 32) * level(block.nibble(8 + 16 * j, c));
    }
    case TensorType::tq2_0:
      return block.f16(64) * (block.field(32 * h + c, 2, r) - 1);
    default:
      throw std::runtime_error("the reference does not know tensor type " +
                               std::to_string(static_cast<std::uint32_t>(type)));
  }
}

/// Element e of the block at `bytes`. With scale d and minimum m, both binary16, and an integer code q of at
/// most 8 bits:
///
///  - d * q has at most 11 + 8 significant bits: exact as double and as float;
///  - d * q + m is a multiple of 2^-24 below 2^21, 45 bits: exact as double, but not as float.
///
/// In blocks of 256, q is the product of an integer scale and a code, of at most 13 bits in all, and m that
/// of the block's minimum and an integer of at most 6: still exact as double, and without m as float.
///
/// Throws std::runtime_error that names a type which is not known here.
inline double element(edgeq::gguf::TensorType type, const std::byte* bytes, std::size_t e) {
  using edgeq::gguf::TensorType;
  const BlockBytes block(bytes);
  switch (type) {
    case TensorType::f32:
      return static_cast<double>(std::bit_cast<float>(block.u32(0)));
    case TensorType::f16:
      return block.f16(0);
    case TensorType::bf16:
      return static_cast<double>(std::bit_cast<float>(block.u16(0) << 16));
    case TensorType::q4_0:
      return block.f16(0) * (block.nibble(2, e) - 8);
    case TensorType::q4_1:
      return block.f16(0) * block.nibble(4, e) + block.f16(2);
    case TensorType::q5_0:
      return block.f16(0) * (block.five_bits(6, 2, e) - 16);
    case TensorType::q5_1:
      return block.f16(0) * block.five_bits(8, 4, e) + block.f16(2);
    case TensorType::q8_0:
      return block.f16(0) * block.i8(2 + e);
    case TensorType::iq4_nl:
      return block.f16(0) * level(block.nibble(2, e));
    case TensorType::mxfp4:
      return std::ldexp(float4(block.nibble(1, e)), static_cast<int>(block.u8(0)) - 127);
    case TensorType::nvfp4: {
      const std::uint32_t scale = block.u8(e / 16);  // 4 bits of exponent, 3 of fraction
      const int exponent = static_cast<int>(scale >> 3), fraction = static_cast<int>(scale & 7);
      return float4(block.field(4 + e / 16 * 8 + e % 8, 4, e % 16 / 8)) *
             (exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
    }
    default:
      return super_block_element(type, block, e);
  }
}

/// All elements of a tensor, row major, each rounded once to float: what edgeq's `decode()` defines the
/// weight to be. Only types with a minimum round at all, and since their product is exact it makes no
/// difference whether that is one fused operation or two.
inline std::vector<float> dequantize(const edgeq::gguf::Tensor& tensor) {
  const auto* info = edgeq::gguf::type_info(tensor.type);
  std::vector<float> values(tensor.rows() * tensor.columns());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* block = tensor.data.data() + i / info->block_elements * info->block_bytes;
    values[i] = static_cast<float>(element(tensor.type, block, i % info->block_elements));
  }
  return values;
}

}
