// SPDX-License-Identifier: Apache-2.0
// Integer codes with a scale per group of consecutive k: symmetric, with an integer zero point, or with a
// float minimum or zero.
#pragma once
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "edgeq/format/weight_format.hpp"
#include "edgeq/number/stored_float.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// What lies between a code and its value.
namespace offset {
struct Symmetric {  ///< value = scale * (code - midpoint)
  static constexpr const char* name = "sym";
  static constexpr bool has_zeros = false, has_minima = false, from_midpoint = true;
};
struct IntegerZero {  ///< value = scale * (code - zero), zero in 0..255 per group
  static constexpr const char* name = "zero";
  static constexpr bool has_zeros = true, has_minima = false, from_midpoint = false;
};
struct FloatMinimum {  ///< value = scale * code + minimum, rounded once
  static constexpr const char* name = "min";
  static constexpr bool has_zeros = false, has_minima = true, from_midpoint = false;
};
struct FloatZero {  ///< value = scale * (code - midpoint) + minimum, rounded once
  static constexpr const char* name = "fzero";
  static constexpr bool has_zeros = false, has_minima = true, from_midpoint = true;
};
}

/// At most this many k are summed in int32 before the sum is scaled. With 16-bit activations (at most 32512)
/// and |value - zero| <= 128 the sum of 512 stays below 2^31: 512 * 128 * 32512 = 2130706432. Integer zeros
/// and byte codes that count from a minimum reach 255, so their blocks are half as long.
template <class Codec, class Offset>
constexpr std::size_t longest_block() noexcept {
  if constexpr (codec::IntegerCodec<Codec>)
    return Offset::has_zeros || (!Offset::from_midpoint && Codec::largest_value > 128) ? 256 : 512;
  else
    return 512;
}

/// Sixteen rows on their way into a panel, one code per byte, row-major.
template <StoredScale Scale>
struct CodeRows {
  std::size_t k = 0, group = 1, groups = 0;
  std::vector<std::uint8_t> codes;  // [16, K]
  std::vector<Scale> scales;        // [16, groups]
  std::vector<Scale> minima;        // [16, groups]
  std::vector<std::uint8_t> zeros;  // [16, groups]

  /// Sizes the block for K and a group, and zeroes it.
  void reset(std::size_t k_in, std::size_t group_in) {
    k = k_in;
    group = group_in;
    groups = k == 0 ? 0 : (k - 1) / group + 1;
    codes.assign(panel_columns * k, 0);
    scales.assign(panel_columns * groups, Scale{});
    minima.assign(panel_columns * groups, Scale{});
    zeros.assign(panel_columns * groups, 0);
  }
};

/// W [N, K] as a checkpoint stores it: row-major codes, and scales (minima, zeros) [N, groups]. It owns
/// nothing.
template <class Codec, class Offset, int Group, StoredScale Scale>
struct GroupQuantizedView {
  std::size_t n = 0;
  std::size_t k = 0;
  std::span<const std::uint8_t> codes;       ///< [N, row_bytes(K)]; 4-bit: even k in the low nibble
  std::span<const Scale> scales;             ///< [N, groups]; [N] per channel; [1] per tensor
  std::span<const Scale> minima = {};        ///< as scales, for offset::FloatMinimum and FloatZero
  std::span<const std::uint8_t> zeros = {};  ///< as scales, one byte each, for offset::IntegerZero
  std::size_t dynamic = 0;                   ///< the group size, for dynamic_group

  constexpr std::size_t group() const noexcept {
    if constexpr (Group > 0) return static_cast<std::size_t>(Group);
    if constexpr (Group == dynamic_group) return dynamic;
    return k == 0 ? 1 : k;
  }
  constexpr std::size_t groups() const noexcept { return k == 0 ? 0 : (k - 1) / group() + 1; }
  constexpr WeightShape shape() const noexcept { return {n, k, group()}; }
  constexpr std::size_t scale_index(std::size_t row, std::size_t g) const noexcept {
    return Group == per_tensor ? 0 : row * groups() + g;
  }

  /// Refuses spans whose sizes do not follow from N, K and the group.
  Status validate() const {
    if (group() == 0) return Error{ErrorCode::invalid_argument, "edgeq: the group size is 0"};
    const std::size_t expected = Group == per_tensor ? std::size_t{n > 0 && k > 0} : n * groups();
    const auto check = [](const char* what, std::size_t found, std::size_t wanted) -> Status {
      if (found == wanted) return success();
      return Error{ErrorCode::invalid_argument, std::string("edgeq: ") + what + " has " +
                                                    std::to_string(found) + " elements, its shape needs " +
                                                    std::to_string(wanted)};
    };
    if (k != 0 && n > SIZE_MAX / 16 / k)
      return Error{ErrorCode::too_large, "edgeq: N x K does not fit in memory"};
    if (Status s = check("codes", codes.size(), n * Codec::row_bytes(k)); !s) return s;
    if (Status s = check("scales", scales.size(), expected); !s) return s;
    if (Offset::has_minima)
      if (Status s = check("minima", minima.size(), expected); !s) return s;
    if (Offset::has_zeros)
      if (Status s = check("zeros", zeros.size(), expected); !s) return s;
    return success();
  }

  /// Unpacks row n into row r of a block.
  void read(std::size_t row, std::size_t r, CodeRows<Scale>& rows) const noexcept {
    const std::uint8_t* from = codes.data() + row * Codec::row_bytes(k);
    for (std::size_t i = 0; i < k; ++i) rows.codes[r * k + i] = Codec::get(from, i);
    for (std::size_t g = 0; g < groups(); ++g) {
      const std::size_t i = scale_index(row, g), to = r * groups() + g;
      rows.scales[to] = scales[i];
      if constexpr (Offset::has_minima) rows.minima[to] = minima[i];
      if constexpr (Offset::has_zeros) rows.zeros[to] = zeros[i];
    }
  }
};

/// Codec x offset x group x scale type. See formats.hpp for the names that users write.
///
/// The header of a packed group: scales [16], then minima [16], then zeros [16 bytes].
template <class CodecType, class OffsetType, int Group, StoredScale ScaleType>
struct GroupQuantized {
  using Codec = CodecType;
  using Offset = OffsetType;
  using Scale = ScaleType;
  using View = GroupQuantizedView<Codec, Offset, Group, Scale>;
  using Rows = CodeRows<Scale>;
  static_assert(!codec::Codebook<Codec> || (Offset::from_midpoint && !Offset::has_minima),
                "edgeq: the codes of a table have no zero and no minimum");
  static_assert(Group >= per_tensor,
                "edgeq: the group is a positive number of k, dynamic_group, per_channel or per_tensor");

  static constexpr bool is_integer = codec::IntegerCodec<Codec>;
  static constexpr int group = Group;
  static constexpr std::size_t k_per_line = Codec::k_per_line;
  static constexpr std::size_t bytes_per_line = Codec::bytes_per_line;
  static constexpr std::size_t accumulation_block = longest_block<Codec, Offset>();

  static constexpr std::size_t minima_offset = panel_columns * sizeof(Scale);
  static constexpr std::size_t zeros_offset = minima_offset * (Offset::has_minima ? 2 : 1);
  static constexpr std::size_t header_bytes = zeros_offset + (Offset::has_zeros ? panel_columns : 0);
  static constexpr std::size_t groups_per_record = groups_for_whole_lines(header_bytes);

  /// For example "int4 sym g128 bf16".
  static std::string name() {
    std::string text = std::string(Codec::name) + " " + Offset::name + " ";
    if (Group > 0)
      text += "g" + std::to_string(Group);
    else
      text += Group == dynamic_group ? "g*" : Group == per_channel ? "channel" : "tensor";
    return text + " " + stored_float_name<Scale>();
  }

  /// The value of a code: the one place that says what a scale, a zero and a minimum do. A table's entries
  /// are multiplied by scale and unit.
  static float value(int code, Scale scale, Scale minimum, int zero) noexcept {
    const float unit = to_float(scale) * Codec::unit;  // exact, but for subnormal scales
    if constexpr (codec::Codebook<Codec>) {
      return unit * Codec::floats[static_cast<std::size_t>(code)];
    } else {
      const int from = Offset::has_zeros ? zero : Offset::from_midpoint ? Codec::midpoint : 0;
      const auto steps = static_cast<float>(code - from);
      return Offset::has_minima ? std::fma(unit, steps, to_float(minimum)) : unit * steps;
    }
  }

  /// W[n, k] of a view. This is the definition of the format.
  static float decode(const View& view, std::size_t n, std::size_t k) noexcept {
    const std::size_t i = view.scale_index(n, k / view.group());
    return value(Codec::get(view.codes.data() + n * Codec::row_bytes(view.k), k), view.scales[i],
                 Offset::has_minima ? view.minima[i] : Scale{}, Offset::has_zeros ? view.zeros[i] : 0);
  }

  /// The weight of row r of a block at k.
  static float row_value(const Rows& rows, std::size_t r, std::size_t k) noexcept {
    const std::size_t i = r * rows.groups + k / rows.group;
    return value(rows.codes[r * rows.k + k], rows.scales[i], rows.minima[i], rows.zeros[i]);
  }

  /// Writes group g, which covers k_begin .. k_begin + length - 1, into zeroed memory.
  static void pack_group(std::uint8_t* headers, std::uint8_t* lines, const Rows& rows, std::size_t g,
                         std::size_t k_begin, std::size_t length) noexcept {
    std::uint8_t* header = headers + g % groups_per_record * header_bytes;
    for (std::size_t column = 0; column < panel_columns; ++column) {
      const std::size_t i = column * rows.groups + g;
      std::memcpy(header + column * sizeof(Scale), &rows.scales[i], sizeof(Scale));
      if constexpr (Offset::has_minima)
        std::memcpy(header + minima_offset + column * sizeof(Scale), &rows.minima[i], sizeof(Scale));
      if constexpr (Offset::has_zeros) header[zeros_offset + column] = rows.zeros[i];
      const std::uint8_t* codes = rows.codes.data() + column * rows.k + k_begin;
      for (std::size_t k = 0; k < length; ++k) Codec::put(lines, column, k, codes[k]);
    }
  }

  /// The weight of a column at k from the group's beginning.
  static float unpack(const HeaderPlace& place, const std::uint8_t* lines, std::size_t column,
                      std::size_t k) noexcept {
    const std::uint8_t* header = place.headers + place.index * header_bytes;
    Scale scale, minimum{};
    std::memcpy(&scale, header + column * sizeof(Scale), sizeof(Scale));
    if constexpr (Offset::has_minima)
      std::memcpy(&minimum, header + minima_offset + column * sizeof(Scale), sizeof(Scale));
    const int zero = Offset::has_zeros ? header[zeros_offset + column] : 0;
    return value(Codec::take(lines, column, k), scale, minimum, zero);
  }
};

}
