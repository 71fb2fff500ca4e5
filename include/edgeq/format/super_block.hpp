// SPDX-License-Identifier: Apache-2.0
// Integer codes whose groups' scales are small integers themselves, times a float of a super-block of 256 k:
// ggml's Q4_K and Q6_K, at their own bits.
#pragma once
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "edgeq/format/group_quantized.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Elements of a super-block.
inline constexpr std::size_t super_block = 256;

/// What one column of a group multiplies and adds by, before the float of its super-block.
struct GroupFactors {
  int scale = 0;
  int minimum = 0;
};

/// Headers of Q4_K: scales and minima of 6 bits for groups of 32.
///
/// A record is a super-block. Its headers are four lines: 16 scales and 16 minima of the super-block, f16;
/// for each of eight groups 16 bytes, the lower four bits of scale and minimum; for each two groups 16 bytes,
/// from the lowest bits up the upper two of scale, of minimum, and of the next group's scale and minimum.
struct SixBitHeaders {
  static constexpr const char* name = "q4_k";
  static constexpr std::size_t group = 32, groups_per_record = 8, header_bytes = 32;
  static constexpr std::size_t minima = 2 * panel_columns, lower = 4 * panel_columns,
                               upper = lower + groups_per_record * panel_columns;
  static constexpr bool has_minima = true;
  static constexpr int largest_scale = 63, smallest_scale = 0;

  static constexpr std::size_t float_offset(std::size_t) noexcept { return 0; }
  static void put(std::uint8_t* headers, std::size_t index, std::size_t column, GroupFactors f) noexcept {
    headers[lower + index * panel_columns + column] =
        static_cast<std::uint8_t>((f.scale & 15) | (f.minimum & 15) << 4);
    std::uint8_t& byte = headers[upper + index / 2 * panel_columns + column];
    byte = static_cast<std::uint8_t>(byte | (f.scale >> 4 | f.minimum >> 4 << 2) << (index % 2 * 4));
  }
  static GroupFactors get(const HeaderPlace& place, std::size_t column) noexcept {
    const int low = place.headers[lower + place.index * panel_columns + column],
              high = place.headers[upper + place.index / 2 * panel_columns + column] >> (place.index % 2 * 4);
    return {(low & 15) | (high & 3) << 4, low >> 4 | (high >> 2 & 3) << 4};
  }
};

/// Headers of Q6_K: scales of a signed byte for groups of 16.
///
/// A record is two super-blocks, as 210 bytes a column and super-block fill whole lines only in pairs. Its
/// headers are nine lines: 16 scales, f16, of the first super-block and of the second; for each of 32 groups
/// 16 bytes.
struct ByteHeaders {
  static constexpr const char* name = "q6_k";
  static constexpr std::size_t group = 16, groups_per_record = 32, header_bytes = 18;
  static constexpr std::size_t scales = 4 * panel_columns;
  static constexpr bool has_minima = false;
  static constexpr int largest_scale = 127, smallest_scale = -128;

  static constexpr std::size_t float_offset(std::size_t index) noexcept {
    return index / (super_block / group) * panel_columns * sizeof(Float16);
  }
  static void put(std::uint8_t* headers, std::size_t index, std::size_t column, GroupFactors f) noexcept {
    headers[scales + index * panel_columns + column] = static_cast<std::uint8_t>(f.scale);
  }
  static GroupFactors get(const HeaderPlace& place, std::size_t column) noexcept {
    return {static_cast<std::int8_t>(place.headers[scales + place.index * panel_columns + column]), 0};
  }
};

/// Sixteen rows on their way into a panel, one code per byte, row-major.
struct SuperBlockRows {
  std::size_t k = 0, group = 1, groups = 0, blocks = 0;
  std::vector<std::uint8_t> codes;    // [16, K]
  std::vector<GroupFactors> factors;  // [16, groups]
  std::vector<Float16> scales;        // [16, super-blocks]
  std::vector<Float16> minima;        // [16, super-blocks]

  /// Sizes the block for K and a group, and zeroes it.
  void reset(std::size_t k_in, std::size_t group_in) {
    k = k_in;
    group = group_in;
    groups = k == 0 ? 0 : (k - 1) / group + 1;
    blocks = k == 0 ? 0 : (k - 1) / super_block + 1;
    codes.assign(panel_columns * k, 0);
    factors.assign(panel_columns * groups, GroupFactors{});
    scales.assign(panel_columns * blocks, Float16{});
    minima.assign(panel_columns * blocks, Float16{});
  }
};

/// W [N, K], row-major. It owns nothing. K need not be a multiple of 256.
template <class Codec, class Headers>
struct SuperBlockView {
  std::size_t n = 0;
  std::size_t k = 0;
  std::span<const std::uint8_t> codes;    ///< [N, row_bytes(K)]
  std::span<const GroupFactors> factors;  ///< [N, groups]
  std::span<const Float16> scales;        ///< [N, ceil(K / 256)]
  std::span<const Float16> minima = {};   ///< as scales, for Q4_K

  constexpr std::size_t groups() const noexcept { return k == 0 ? 0 : (k - 1) / Headers::group + 1; }
  constexpr std::size_t blocks() const noexcept { return k == 0 ? 0 : (k - 1) / super_block + 1; }
  constexpr WeightShape shape() const noexcept { return {n, k, Headers::group}; }

  /// Refuses spans whose sizes do not follow from N and K, and factors that their bits cannot hold.
  Status validate() const {
    if (k != 0 && n > SIZE_MAX / 16 / k)
      return Error{ErrorCode::too_large, "edgeq: N x K does not fit in memory"};
    constexpr bool has_minima = Headers::has_minima;
    if (codes.size() != n * Codec::row_bytes(k) || factors.size() != n * groups() ||
        scales.size() != n * blocks() || minima.size() != (has_minima ? n * blocks() : 0))
      return Error{ErrorCode::invalid_argument,
                   "edgeq: codes, factors, scales and minima have " + std::to_string(codes.size()) + ", " +
                       std::to_string(factors.size()) + ", " + std::to_string(scales.size()) + " and " +
                       std::to_string(minima.size()) + " elements, which N = " + std::to_string(n) +
                       ", K = " + std::to_string(k) + " does not need"};
    for (const GroupFactors& f : factors)
      if (f.scale < Headers::smallest_scale || f.scale > Headers::largest_scale || f.minimum < 0 ||
          f.minimum > (has_minima ? Headers::largest_scale : 0))
        return Error{ErrorCode::invalid_argument, "edgeq: a group's scale " + std::to_string(f.scale) +
                                                      " or minimum " + std::to_string(f.minimum) +
                                                      " does not fit in " + Headers::name};
    return success();
  }

  /// Unpacks row n into row r of a block.
  void read(std::size_t row, std::size_t r, SuperBlockRows& rows) const noexcept {
    const std::uint8_t* from = codes.data() + row * Codec::row_bytes(k);
    for (std::size_t i = 0; i < k; ++i) rows.codes[r * k + i] = Codec::get(from, i);
    for (std::size_t g = 0; g < groups(); ++g) rows.factors[r * groups() + g] = factors[row * groups() + g];
    for (std::size_t b = 0; b < blocks(); ++b) {
      rows.scales[r * blocks() + b] = scales[row * blocks() + b];
      if (!minima.empty()) rows.minima[r * blocks() + b] = minima[row * blocks() + b];
    }
  }
};

/// Codec x offset x kind of headers. With d and dmin of the super-block, s and m of the group: value =
/// (d * s) * (code - midpoint), or (d * s) * code - (dmin * m) rounded once. The products with s and m are
/// exact.
template <class CodecType, class OffsetType, class HeadersType>
struct SuperBlock {
  using Codec = CodecType;
  using Offset = OffsetType;
  using Headers = HeadersType;
  using View = SuperBlockView<Codec, Headers>;
  using Rows = SuperBlockRows;

  static constexpr bool is_integer = true;
  static constexpr int group = static_cast<int>(Headers::group);
  static constexpr std::size_t k_per_line = Codec::k_per_line;
  static constexpr std::size_t bytes_per_line = Codec::bytes_per_line;
  static constexpr std::size_t accumulation_block = longest_block<Codec, Offset>();
  static constexpr std::size_t header_bytes = Headers::header_bytes;
  static constexpr std::size_t groups_per_record = Headers::groups_per_record;
  static_assert(header_bytes * groups_per_record % line_bytes == 0);

  static std::string name() { return Headers::name; }

  /// The value of a code under its group's factors and its super-block's scale and minimum.
  static float value(int code, GroupFactors f, Float16 scale, Float16 minimum) noexcept {
    const float unit = scale.to_float() * static_cast<float>(f.scale);
    if constexpr (Offset::has_minima)
      return std::fma(unit, static_cast<float>(code), -(minimum.to_float() * static_cast<float>(f.minimum)));
    else
      return unit * static_cast<float>(code - Codec::midpoint);
  }

  /// W[n, k] of a view. This is the definition of the format.
  static float decode(const View& view, std::size_t n, std::size_t k) noexcept {
    const std::size_t block = n * view.blocks() + k / super_block;
    return value(Codec::get(view.codes.data() + n * Codec::row_bytes(view.k), k),
                 view.factors[n * view.groups() + k / Headers::group], view.scales[block],
                 Offset::has_minima ? view.minima[block] : Float16{});
  }
  /// The weight of row r of a block at k.
  static float row_value(const Rows& rows, std::size_t r, std::size_t k) noexcept {
    const std::size_t block = r * rows.blocks + k / super_block;
    return value(rows.codes[r * rows.k + k], rows.factors[r * rows.groups + k / Headers::group],
                 rows.scales[block], rows.minima[block]);
  }

  /// Writes group g, which covers k_begin .. k_begin + length - 1, into zeroed memory.
  static void pack_group(std::uint8_t* headers, std::uint8_t* lines, const Rows& rows, std::size_t g,
                         std::size_t k_begin, std::size_t length) noexcept {
    const std::size_t index = g % groups_per_record;
    for (std::size_t column = 0; column < panel_columns; ++column) {
      const std::size_t block = column * rows.blocks + k_begin / super_block;
      std::uint8_t* floats = headers + Headers::float_offset(index) + column * sizeof(Float16);
      std::memcpy(floats, &rows.scales[block], sizeof(Float16));
      if constexpr (Offset::has_minima)
        std::memcpy(floats + Headers::minima, &rows.minima[block], sizeof(Float16));
      Headers::put(headers, index, column, rows.factors[column * rows.groups + g]);
      for (std::size_t k = 0; k < length; ++k)
        Codec::put(lines, column, k, rows.codes[column * rows.k + k_begin + k]);
    }
  }
  /// The weight of a column at k from the group's beginning.
  static float unpack(const HeaderPlace& place, const std::uint8_t* lines, std::size_t column,
                      std::size_t k) noexcept {
    const std::uint8_t* floats =
        place.headers + Headers::float_offset(place.index) + column * sizeof(Float16);
    Float16 scale, minimum{};
    std::memcpy(&scale, floats, sizeof(Float16));
    if constexpr (Offset::has_minima) std::memcpy(&minimum, floats + Headers::minima, sizeof(Float16));
    return value(Codec::take(lines, column, k), Headers::get(place, column), scale, minimum);
  }
};

}
