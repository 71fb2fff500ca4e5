// SPDX-License-Identifier: Apache-2.0
// 8-bit floats with a float scale per block of the matrix, per output column or per matrix: FP8 checkpoints.
#pragma once
#include <cstring>
#include <span>
#include <vector>

#include "edgeq/format/group_quantized.hpp"
#include "edgeq/number/float8.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

namespace offset {
struct None {  ///< value = scale * code
  static constexpr const char* name = "";
  static constexpr bool has_zeros = false, has_minima = false, from_midpoint = true;
};
}

/// W [N, K] as a checkpoint stores it: row-major codes, and `weight_scale_inv`, which multiplies, for blocks
/// of block_n x block_k. It owns nothing.
template <class Element, int BlockN, int BlockK>
struct ScaledFloatView {
  std::size_t n = 0;
  std::size_t k = 0;
  std::span<const std::uint8_t> codes;  ///< [N, K], patterns of Element
  std::span<const float> scales;        ///< [ceil((first_row + N) / block_n), ceil(K / block_k)]
  /// The view's row 0 in the matrix whose blocks the scales describe: a slice of a fused layer need not begin
  /// at a block.
  std::size_t first_row = 0;
  std::size_t dynamic_n = 0, dynamic_k = 0;  ///< the block, where BlockN or BlockK is dynamic_group

  constexpr std::size_t block_n() const noexcept {
    if constexpr (BlockN > 0) return static_cast<std::size_t>(BlockN);
    if constexpr (BlockN == dynamic_group) return dynamic_n;
    return first_row + n == 0 ? 1 : first_row + n;
  }
  constexpr std::size_t group() const noexcept {
    if constexpr (BlockK > 0) return static_cast<std::size_t>(BlockK);
    if constexpr (BlockK == dynamic_group) return dynamic_k;
    return k == 0 ? 1 : k;
  }
  constexpr std::size_t groups() const noexcept { return k == 0 ? 0 : (k - 1) / group() + 1; }
  constexpr WeightShape shape() const noexcept { return {n, k, group()}; }
  constexpr float scale(std::size_t row, std::size_t g) const noexcept {
    return scales[(first_row + row) / block_n() * groups() + g];
  }

  /// Refuses a block of 0 and spans whose sizes do not follow from N, K and the block.
  Status validate() const {
    if (block_n() == 0 || group() == 0)
      return Error{ErrorCode::invalid_argument, "edgeq: the block of scales is " + std::to_string(block_n()) +
                                                    " x " + std::to_string(group())};
    if ((k != 0 && n > SIZE_MAX / 16 / k) || first_row > SIZE_MAX / 2)
      return Error{ErrorCode::too_large, "edgeq: N x K does not fit in memory"};
    if (codes.size() != n * k)
      return Error{ErrorCode::invalid_argument, "edgeq: codes has " + std::to_string(codes.size()) +
                                                    " elements, its shape needs " + std::to_string(n * k)};
    const std::size_t block_rows = n == 0 ? 0 : (first_row + n - 1) / block_n() + 1;
    if (groups() != 0 && block_rows > SIZE_MAX / sizeof(float) / groups())
      return Error{ErrorCode::too_large,
                   "edgeq: the blocks of row " + std::to_string(first_row) + " do not fit in memory"};
    const std::size_t expected = block_rows * groups();
    if (scales.size() != expected)
      return Error{ErrorCode::invalid_argument, "edgeq: scales has " + std::to_string(scales.size()) +
                                                    " elements, blocks of " + std::to_string(block_n()) +
                                                    " x " + std::to_string(group()) + " need " +
                                                    std::to_string(expected)};
    return success();
  }

  /// Copies row n, and the scales of its blocks, into row r of a block of rows.
  void read(std::size_t row, std::size_t r, CodeRows<float>& rows) const noexcept {
    if (k != 0) std::memcpy(rows.codes.data() + r * k, codes.data() + row * k, k);
    for (std::size_t g = 0; g < groups(); ++g) rows.scales[r * groups() + g] = scale(row, g);
  }
};

/// Element x block. See formats.hpp for the names that users write.
///
/// In a panel each column has its own copy of its block's scale, so rows may be sliced and stacked at will;
/// at blocks of 128 the header is 3 % of a group. The header of a packed group: scales [16] f32.
template <class ElementType, int BlockN, int BlockK>
struct ScaledFloat {
  using Element = ElementType;
  using Codec = codec::FloatByte<Element>;
  using Offset = offset::None;
  using Scale = float;
  using View = ScaledFloatView<Element, BlockN, BlockK>;
  using Rows = CodeRows<float>;
  static_assert(BlockN >= per_tensor && BlockK >= per_tensor && BlockN != per_channel,
                "edgeq: a block of scales has positive sides, dynamic_group, or per_tensor for all rows and "
                "per_channel for all of K");

  static constexpr bool is_integer = false;
  static constexpr int group = BlockK;
  static constexpr std::size_t k_per_line = Codec::k_per_line;
  static constexpr std::size_t bytes_per_line = Codec::bytes_per_line;
  static constexpr std::size_t accumulation_block = 512;
  static constexpr std::size_t header_bytes = panel_columns * sizeof(float);
  static constexpr std::size_t groups_per_record = groups_for_whole_lines(header_bytes);

  /// For example "fp8 e4m3 b128x128".
  static std::string name() {
    const auto side = [](int value) { return value > 0 ? std::to_string(value) : value == 0 ? "*" : "all"; };
    return std::string("fp8 ") + Element::name + " b" + side(BlockN) + "x" + side(BlockK);
  }

  static float value(std::uint8_t code, float scale) noexcept { return Element{code}.to_float() * scale; }

  /// W[n, k] of a view. This is the definition of the format.
  static float decode(const View& view, std::size_t n, std::size_t k) noexcept {
    return value(view.codes[n * view.k + k], view.scale(n, k / view.group()));
  }
  /// The weight of row r of a block at k.
  static float row_value(const Rows& rows, std::size_t r, std::size_t k) noexcept {
    return value(rows.codes[r * rows.k + k], rows.scales[r * rows.groups + k / rows.group]);
  }
  /// Writes group g, which covers k_begin .. k_begin + length - 1, into zeroed memory.
  static void pack_group(std::uint8_t* headers, std::uint8_t* lines, const Rows& rows, std::size_t g,
                         std::size_t k_begin, std::size_t length) noexcept {
    std::uint8_t* header = headers + g % groups_per_record * header_bytes;
    for (std::size_t column = 0; column < panel_columns; ++column) {
      std::memcpy(header + column * sizeof(float), &rows.scales[column * rows.groups + g], sizeof(float));
      for (std::size_t k = 0; k < length; ++k)
        Codec::put(lines, column, k, rows.codes[column * rows.k + k_begin + k]);
    }
  }
  /// The weight of a column at k from the group's beginning.
  static float unpack(const HeaderPlace& place, const std::uint8_t* lines, std::size_t column,
                      std::size_t k) noexcept {
    float scale;
    std::memcpy(&scale, place.headers + place.index * header_bytes + column * sizeof(float), sizeof(float));
    return value(Codec::take(lines, column, k), scale);
  }
};

}
