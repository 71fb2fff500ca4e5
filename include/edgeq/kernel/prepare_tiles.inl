// SPDX-License-Identifier: Apache-2.0
// Activation preparation in the form "tiles" of row_tiles.hpp, included once inside each ISA's region that
// has tiles, over prepare_rows.inl.

/// The prepared codes of tiles of Tile's shape, each row's part of its tile. Fold times the sum of a block's
/// codes is where its accumulators start; Fold = 0 keeps no folds.
template <class Activation, class Tile, int Fold, std::size_t Largest>
void quantize_tiles(const PrepareArguments& p) noexcept {
  constexpr std::size_t planes = Activation::planes, unit = Tile::row_unit, row_bytes = Tile::x_bytes / unit,
                        fold_bytes = Fold == 0 ? 0 : 16;
  using Layout = RowTileLayout<Activation, Tile::step_k, row_bytes, fold_bytes>;
  const PanelGeometry& s = *p.geometry;
  for (std::size_t m = p.row_begin; m < p.row_end; ++m) {
    const RowTile tile = row_tile_of<Largest, unit>(m, p.m);
    const std::size_t row = m - tile.first, metadata = p.layout.row_bytes - p.layout.plane_bytes;
    auto* first = reinterpret_cast<std::int8_t*>(p.prepared + tile.first * p.layout.row_bytes);
    std::byte* behind =
        p.prepared + tile.first * p.layout.row_bytes + tile.rows * p.layout.plane_bytes + row * metadata;
    if (unit == 2 && row % 2 == 0 && m + 1 == p.m) {
      // The row that fills up the unit; its products go nowhere, but must not be made of chance.
      __builtin_memset(first + row * p.layout.plane_bytes, 0, 2 * p.layout.plane_bytes);
      __builtin_memset(behind + metadata, 0, metadata);
    }
    const XElements x = row_of_x(p, m);
    std::size_t block = 0;
    quantize_row<Activation>(
        p, x, reinterpret_cast<std::int32_t*>(behind + p.layout.sums_offset - p.layout.plane_bytes),
        reinterpret_cast<float*>(behind + p.layout.scales_offset - p.layout.plane_bytes),
        [&](std::size_t g, std::size_t k, std::size_t length, const QuantizationStep& step)
            EDGEQ_INLINE_LAMBDA {
              constexpr std::size_t longest = 512;  // of all formats' accumulation blocks
              alignas(64) std::int8_t codes[planes][longest];
              const std::size_t rest = p.layout.group_steps - k / Tile::step_k,
                                block_steps = s.accumulation_block / Tile::step_k,
                                steps = rest < block_steps ? rest : block_steps;
              const std::int32_t sum =
                  quantize_block<Activation>(x.from(g * s.group + k), length, step, codes[0],
                                             codes[planes - 1], steps * Tile::step_k - length);
              std::int8_t* to = first + tile.rows * Layout::offset(p.layout, g, k, block++);
              if constexpr (Fold != 0) {
                const std::int32_t fold = Fold * sum;
                constexpr std::size_t lanes = 4 / unit;  // a row's in a register
                for (std::size_t i = 0; i < 4; ++i)
                  __builtin_memcpy(to + row / unit * unit * 16 + i / lanes * 16 +
                                       (row % unit * lanes + i % lanes) * sizeof(fold),
                                   &fold, sizeof(fold));
                to += tile.rows * fold_bytes;
              }
              for (std::size_t i = 0; i < steps; ++i)
                for (std::size_t plane = 0; plane < planes; ++plane) {
                  Tile::store_x(to + row / unit * Tile::x_bytes, row % unit, codes[plane] + i * Tile::step_k);
                  to += tile.rows * row_bytes;
                }
              return sum;
            });
  }
}
