// SPDX-License-Identifier: Apache-2.0
// Codecs: how one unsigned code is stored, in a checkpoint's row and in a packed line of 64 bytes.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
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
struct NibbleLines {
  static constexpr int bits = 4;
  static constexpr int maximum = 15;
  static constexpr std::size_t k_per_line = 8;
  static constexpr std::size_t bytes_per_line = line_bytes;

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
  static constexpr std::size_t bytes_per_line = line_bytes;

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

/// Codes 0..63 in lines of 16 columns x 16 k, 192 bytes each: two lines of nibbles with the lower four bits
/// of k 0..7 and 8..15, then 64 bytes in which byte 4 * column + i has the upper two bits of k = i, i + 4, i
/// + 8 and i + 12, from the lowest bits up.
struct SixBitLines {
  static constexpr int bits = 6;
  static constexpr int maximum = 63;
  static constexpr std::size_t k_per_line = 16;
  static constexpr std::size_t bytes_per_line = 3 * line_bytes;

  /// A checkpoint's row has a byte for each code.
  static constexpr std::size_t row_bytes(std::size_t k) noexcept { return k; }
  static constexpr std::uint8_t get(const std::uint8_t* row, std::size_t k) noexcept { return row[k]; }
  static constexpr void put(std::uint8_t* lines, std::size_t column, std::size_t k,
                            std::uint8_t code) noexcept {
    std::uint8_t* line = lines + k / 16 * bytes_per_line;
    NibbleLines::put(line, column, k % 16, code);
    std::uint8_t& byte = line[2 * line_bytes + column * 4 + k % 4];
    byte = static_cast<std::uint8_t>(byte | (code >> 4 & 3) << (k % 16 / 4 * 2));
  }
  static constexpr std::uint8_t take(const std::uint8_t* lines, std::size_t column, std::size_t k) noexcept {
    const std::uint8_t* line = lines + k / 16 * bytes_per_line;
    const int upper = line[2 * line_bytes + column * 4 + k % 4] >> (k % 16 / 4 * 2) & 3;
    return static_cast<std::uint8_t>(NibbleLines::take(line, column, k % 16) | upper << 4);
  }
};

// A codec whose codes stand for integers has a `value` of 0 .. `largest_value` for each code, and a
// `midpoint`: a symmetric weight is scale * unit * (value - midpoint).

/// Codes that are their own values.
template <class Lines>
struct Counting : Lines {
  static constexpr int midpoint = (Lines::maximum + 1) / 2;
  static constexpr int largest_value = Lines::maximum;
  static constexpr float unit = 1.0f;
  static constexpr int value(int code) noexcept { return code; }
};
struct Nibble : Counting<NibbleLines> {
  static constexpr const char* name = "int4";
};
struct SixBits : Counting<SixBitLines> {
  static constexpr const char* name = "int6";
};
struct Byte : Counting<ByteLines> {
  static constexpr const char* name = "int8";
};

/// 4-bit codes that name the entries of a table of small integers, `entry(code)`.
template <class Table>
struct IntegerCodebook : NibbleLines {
  static constexpr const char* name = Table::name;
  static constexpr float unit = Table::unit;
  static constexpr int midpoint = -*std::ranges::min_element(Table::entries);
  static constexpr int largest_value = *std::ranges::max_element(Table::entries) + midpoint;
  static constexpr int value(int code) noexcept { return Table::entries[code] + midpoint; }

  /// value(code), and value(code) - midpoint, for all codes.
  static constexpr auto values = [] {
    std::array<std::uint8_t, 16> table{};
    for (int i = 0; i < 16; ++i) table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value(i));
    return table;
  }();
  static constexpr auto floats = [] {
    std::array<float, 16> table{};
    for (std::size_t i = 0; i < 16; ++i) table[i] = static_cast<float>(Table::entries[i]);
    return table;
  }();
};

/// The 4-bit float of the OCP Microscaling Formats (MX) Specification, version 1.0, section 5.3.3: 0, 0.5, 1,
/// 1.5, 2, 3, 4, 6 and their negatives, counted in halves. Code 8, -0, is 0.
struct E2M1Table {
  static constexpr const char* name = "e2m1";
  static constexpr float unit = 0.5f;
  static constexpr int entries[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
};
using E2M1 = IntegerCodebook<E2M1Table>;

/// ggml's table of sixteen levels for weights near a normal distribution (kvalues_iq4nl).
struct Iq4NlTable {
  static constexpr const char* name = "iq4_nl";
  static constexpr float unit = 1.0f;
  static constexpr int entries[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
};
using Iq4Nl = IntegerCodebook<Iq4NlTable>;

/// 4-bit codes for quantiles of a normal distribution, NormalFloat4 of QLoRA (Dettmers et al. 2023, appendix
/// E). The entries are no small integers, so they meet float activations only.
struct Nf4 : NibbleLines {
  static constexpr const char* name = "nf4";
  static constexpr int midpoint = 0;
  static constexpr float unit = 1.0f;
  static constexpr std::array<float, 16> floats = {-1.0f,
                                                   -0.6961928009986877f,
                                                   -0.5250730514526367f,
                                                   -0.39491748809814453f,
                                                   -0.28444138169288635f,
                                                   -0.18477343022823334f,
                                                   -0.09105003625154495f,
                                                   0.0f,
                                                   0.07958029955625534f,
                                                   0.16093020141124725f,
                                                   0.24611230194568634f,
                                                   0.33791524171829224f,
                                                   0.44070982933044434f,
                                                   0.5626170039176941f,
                                                   0.7229568362236023f,
                                                   1.0f};
};

/// Codes that are floats of 8 bits: Element is Float8E4M3 or Float8E5M2.
template <class ElementType>
struct FloatByte : ByteLines {
  using Element = ElementType;
  static constexpr const char* name = Element::name;
  static constexpr int midpoint = 0;
  static constexpr float unit = 1.0f;
};

/// A codec whose codes stand for integers of at most 8 bits.
template <class Codec>
concept IntegerCodec = requires {
  { Codec::value(0) } -> std::same_as<int>;
};

/// A codec whose codes name the entries of a table.
template <class Codec>
concept Codebook = requires {
  { Codec::floats[0] } -> std::convertible_to<float>;
};

/// A codec whose codes are floats.
template <class Codec>
concept FloatCodec = requires {
  typename Codec::Element;
};

}
}
