// SPDX-License-Identifier: Apache-2.0
// Which formats bf16 holds exactly, and the tables that turn their codes into it.
#pragma once
#include <cstdint>

#include "edgeq/format/formats.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// bf16 weights themselves, and codes whose values have at most eight significant bits.
template <class Format>
concept Bf16Exact = WeightFormat<Format> &&(requires {
  typename Format::Codec;
  requires codec::FloatCodec<typename Format::Codec> || Format::is_integer;
} || std::same_as<Format, Bf16Weight>);

/// The code whose value is 0 in the tables: the midpoint, unless the format counts from its minimum.
template <class Format>
inline constexpr int table_zero =
    Format::Offset::has_minima && !Format::Offset::from_midpoint ? 0 : Format::Codec::midpoint;

/// What a code stands for before scaling, as bf16.
template <class Format>
constexpr std::uint16_t bf16_of_code(int code) noexcept {
  using Codec = typename Format::Codec;
  if constexpr (codec::FloatCodec<Codec>)
    return BFloat16::from_float(typename Codec::Element{static_cast<std::uint8_t>(code)}.to_float()).bits;
  else
    return BFloat16::from_float(static_cast<float>(Codec::value(code) - table_zero<Format>)).bits;
}

/// The sixteen values of 4-bit codes, twice.
struct NibbleTable {
  alignas(64) std::uint16_t words[32];
};
template <class Format>
inline constexpr NibbleTable nibble_table = [] {
  NibbleTable table{};
  for (int i = 0; i < 32; ++i) table.words[i] = bf16_of_code<Format>(i % 16);
  return table;
}();

/// The values of 6-bit codes.
struct SixBitTable {
  alignas(64) std::uint16_t words[64];
};
template <class Format>
inline constexpr SixBitTable six_bit_table = [] {
  SixBitTable table{};
  for (int i = 0; i < 64; ++i) table.words[i] = bf16_of_code<Format>(i);
  return table;
}();

/// The lower and the upper bytes of the values of 8-bit codes.
struct ByteTable {
  alignas(64) std::uint8_t low[256];
  alignas(64) std::uint8_t high[256];
};
template <class Format>
inline constexpr ByteTable byte_table = [] {
  ByteTable table{};
  for (int i = 0; i < 256; ++i) {
    table.low[i] = static_cast<std::uint8_t>(bf16_of_code<Format>(i) & 255);
    table.high[i] = static_cast<std::uint8_t>(bf16_of_code<Format>(i) >> 8);
  }
  return table;
}();

}
