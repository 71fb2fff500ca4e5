// SPDX-License-Identifier: Apache-2.0
// How kernels of register tiles cut the rows of x, and where such a tile's prepared rows lie.
//
// M rows are cut into tiles of `Largest` rows and, for what remains, of smaller powers of two. A tile's rows
// are interleaved: for every step of k, what a row (or a unit of two rows) feeds to one instruction stands
// beside what the tile's other rows feed to theirs, so a kernel reads x front to back. Behind the codes of a
// block stand its folds: for every row the value that an accumulator starts at, ready to be loaded. Behind
// the codes of the tile stand, row by row, sums and scales as in the form "codes".
#pragma once
#include <bit>

#include "edgeq/activation/prepared.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// Rows first .. first + rows - 1 of x.
struct RowTile {
  std::size_t first, rows;
};

/// The tile of `row` among m rows, in tiles of at most Largest. Unit rows share registers: with 2, an odd
/// last row is taken for two.
template <std::size_t Largest, std::size_t Unit>
constexpr RowTile row_tile_of(std::size_t row, std::size_t m) noexcept {
  const std::size_t full = m / Largest * Largest;
  if (row < full) return {row / Largest * Largest, Largest};
  std::size_t first = full;
  for (;;) {
    const std::size_t rest = m - first;
    const std::size_t rows = rest < Unit ? Unit : std::bit_floor(rest);
    if (row < first + rows) return {first, rows};
    first += rows;
  }
}

/// The extents of one row in the form "tiles", whose parts PreparedLayout names: plane_bytes are a row's
/// share of the codes (of all planes) and folds.
///
/// Step is the k of one step, Bytes what a row takes of it (more than Step where codes are replicated), Fold
/// the bytes of a row's fold, or 0. Every group takes equally many steps, the last too.
template <ActivationPolicy Activation, std::size_t Step, std::size_t Bytes, std::size_t Fold>
struct RowTileLayout {
  static constexpr std::size_t steps(std::size_t k) noexcept { return divide_up(k, Step); }

  /// What a row takes before accumulation block `block`, which begins at k of its group.
  static constexpr std::size_t offset(const PreparedLayout& layout, std::size_t group, std::size_t k,
                                      std::size_t block) noexcept {
    return (group * layout.group_steps + k / Step) * Bytes * Activation::planes + block * Fold;
  }
  /// For a kernel that reads groups as if they had at least `whole` elements.
  static constexpr PreparedLayout of(const PanelGeometry& g, std::size_t whole, std::size_t unit) noexcept {
    PreparedLayout extents;
    extents.group_steps = steps(std::max(whole, g.group));
    PreparedLayout layout = PreparedLayout::of_parts(offset(extents, g.groups, 0, g.blocks), 1, g.blocks,
                                                     Activation::per_group  ? g.groups
                                                     : Activation::has_zero ? 2
                                                                            : 1);
    layout.row_multiple = unit;
    layout.group_steps = extents.group_steps;
    return layout;
  }
};

}
