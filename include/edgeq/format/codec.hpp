// SPDX-License-Identifier: Apache-2.0
// Codecs: how one unsigned code is stored, in a checkpoint's row and in a packed line of 64 bytes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "edgeq/config.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Output columns of a panel, and bytes of one packed line: the unit that every kernel reads. 64 bytes are
/// one zmm, two ymm or four 128-bit registers, each lane of 32 bits belonging to one column.
inline constexpr std::size_t panel_columns = 16;
inline constexpr std::size_t line_bytes = 64;

namespace codec {

/// Codes 0..15. A line holds 16 columns x 8 k: byte 4 * column + i has k = i in its low nibble and k = i + 4
/// in its high one (i = 0..3), so that a mask gives four consecutive k of every column, and a shift and a
/// mask the next four.
struct Nibble {
  static constexpr const char* name = "int4";
  static constexpr int bits = 4;
  static constexpr int midpoint = 8;
  static constexpr int maximum = 15;
  static constexpr std::size_t k_per_line = 8;

  /// Bytes of a checkpoint's row of k codes; even k in the low nibble.
  static constexpr std::size_t row_bytes(std::size_t k) noexcept { return k / 2 + k % 2; }
  static constexpr std::uint8_t get(const std::uint8_t* row, std::size_t k) noexcept {
    return static_cast<std::uint8_t>(row[k / 2] >> (k % 2 * 4) & 15);
  }
  /// Adds the code of (column, k) to lines that start as zero; k counts from the group's beginning.
  static constexpr void put(std::uint8_t* lines, std::size_t column, std::size_t k,
                            std::uint8_t code) noexcept {
    std::uint8_t& byte = lines[k / 8 * line_bytes + column * 4 + k % 4];
    byte = static_cast<std::uint8_t>(byte | (code & 15) << (k % 8 / 4 * 4));
  }
  static constexpr std::uint8_t take(const std::uint8_t* lines, std::size_t column, std::size_t k) noexcept {
    return static_cast<std::uint8_t>(lines[k / 8 * line_bytes + column * 4 + k % 4] >> (k % 8 / 4 * 4) & 15);
  }
};

/// Bytes in lines of 16 columns x 4 k: byte 4 * column + i has k = i.
struct ByteLines {
  static constexpr int bits = 8;
  static constexpr int maximum = 255;
  static constexpr std::size_t k_per_line = 4;

  static constexpr std::size_t row_bytes(std::size_t k) noexcept { return k; }
  static constexpr std::uint8_t get(const std::uint8_t* row, std::size_t k) noexcept { return row[k]; }
  static constexpr void put(std::uint8_t* lines, std::size_t column, std::size_t k,
                            std::uint8_t code) noexcept {
    lines[k / 4 * line_bytes + column * 4 + k % 4] = code;
  }
  static constexpr std::uint8_t take(const std::uint8_t* lines, std::size_t column, std::size_t k) noexcept {
    return lines[k / 4 * line_bytes + column * 4 + k % 4];
  }
};

/// Codes 0..255.
struct Byte : ByteLines {
  static constexpr const char* name = "int8";
  static constexpr int midpoint = 128;
};

/// Codes that are floats of 8 bits: Element is Float8E4M3 or Float8E5M2.
template <class ElementType>
struct FloatByte : ByteLines {
  using Element = ElementType;
  static constexpr const char* name = Element::name;
  static constexpr int midpoint = 0;
};

/// A codec whose codes are floats.
template <class Codec>
concept FloatCodec = requires {
  typename Codec::Element;
};

}
}
