// SPDX-License-Identifier: Apache-2.0
// Integer codecs: how one unsigned code is stored, in a checkpoint's row and in a packed line of 64 bytes.
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

/// Codes 0..255. A line holds 16 columns x 4 k: byte 4 * column + i has k = i.
struct Byte {
  static constexpr const char* name = "int8";
  static constexpr int bits = 8;
  static constexpr int midpoint = 128;
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

}
}
