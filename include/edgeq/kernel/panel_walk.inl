// SPDX-License-Identifier: Apache-2.0
// How every kernel walks its range of panels: several far-apart streams at once, all rows of x while a panel
// is in cache.
//
// One core reads DRAM a quarter faster from two to four long streams than from one, and adjacent panels in
// lock step are slower than either: so stream i of S walks the i-th part of the range, line by line in turn
// with the others. Parts differ by at most one panel; a stream that is done repeats its last panel, which
// stores the same values again.

/// Panels walked side by side by a tile of `rows` rows: as many as the accumulators allow, at most four.
constexpr std::size_t streams_of(std::size_t rows, std::size_t accumulators_per_row) noexcept {
  const std::size_t fit = Simd::accumulators / (rows * accumulators_per_row);
  return fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

/// Writes one row of 16 sums to y: whole vectors, or a part of the last panel by way of memory.
EDGEQ_INLINE void store_columns(float* y, const typename Simd::Float (&row)[panel_columns / Simd::lanes],
                                std::size_t columns) noexcept {
  constexpr std::size_t registers = panel_columns / Simd::lanes;
  if (columns >= panel_columns) {
    EDGEQ_FOR (r, registers) Simd::store(y + r * Simd::lanes, row[r]);
    return;
  }
  float partial[panel_columns];
  EDGEQ_FOR (r, registers) Simd::store(partial + r * Simd::lanes, row[r]);
  __builtin_memcpy(y, partial, columns * sizeof(float));
}

/// Lines of a whole group, where the format knows its group and a group is one accumulation block; 0
/// elsewhere.
template <class Format>
inline constexpr std::size_t known_lines =
    Format::group <= 0 || Format::group > static_cast<int>(Format::accumulation_block)
        ? 0
        : (static_cast<std::size_t>(Format::group) - 1) / Format::k_per_line + 1;

/// Calls block(group, k_begin, lines) for every accumulation block of K in ascending order.
template <class Format, class Block>
EDGEQ_INLINE void walk_blocks(const PanelGeometry& geometry, const Block& block) noexcept {
  constexpr std::size_t limit = Format::accumulation_block, per_line = Format::k_per_line;
  if constexpr (known_lines<Format> != 0) {
    const std::size_t full = geometry.k / static_cast<std::size_t>(Format::group);
    const std::size_t last =
        (geometry.k - full * static_cast<std::size_t>(Format::group) + per_line - 1) / per_line;
    for (std::size_t group = 0; group < geometry.groups; ++group)
      block(group, std::size_t{0}, group < full ? known_lines<Format> : last);
  } else {
    for (std::size_t group = 0; group < geometry.groups; ++group) {
      const std::size_t length = geometry.group_length(group);
      for (std::size_t k = 0; k < length; k += limit)
        block(group, k, ((length - k < limit ? length - k : limit) - 1) / per_line + 1);
    }
  }
}

/// Calls line() `lines` times; without a loop where the group is known and short (x0.96 of the time at groups
/// of 32).
template <class Format, class Line>
EDGEQ_INLINE void for_each_line(std::size_t lines, const Line& line) noexcept {
  if constexpr (known_lines<Format> != 0 && known_lines<Format> <= 4) {
    if (lines == known_lines<Format>) {
      EDGEQ_FOR (l, known_lines<Format>) line();
      return;
    }
  }
  for (std::size_t l = 0; l < lines; ++l) line();
}

/// The geometry's offsets, with what the format knows.
template <class Format>
EDGEQ_INLINE std::size_t header_offset(const PanelGeometry& geometry, std::size_t group) noexcept {
  return geometry.header_offset(group, Format::groups_per_record, Format::header_bytes);
}
template <class Format>
EDGEQ_INLINE std::size_t lines_offset(const PanelGeometry& geometry, std::size_t group) noexcept {
  return geometry.lines_offset(group, Format::groups_per_record, Format::header_bytes);
}

/// Runs Tile::run<rows, Streams> over the panels of `g`, at most MaxRows rows of x at a time.
template <class Tile, std::size_t MaxRows>
EDGEQ_INLINE void walk_panels(const GemmArguments& g) noexcept {
  constexpr std::size_t streams = streams_of(MaxRows, Tile::accumulators_per_row);
  const std::size_t count = g.panel_end - g.panel_begin;
  const std::size_t longest = (count + streams - 1) / streams, tiles = (g.m + MaxRows - 1) / MaxRows;
  for (std::size_t i = 0; i < longest; ++i) {
    std::size_t panel[streams];
    for (std::size_t s = 0; s < streams; ++s) {
      const std::size_t begin = count * s / streams, end = count * (s + 1) / streams;
      const std::size_t last = end > begin ? end - 1 : begin;
      panel[s] = g.panel_begin + (begin + i < last ? begin + i : last);
    }
    for (std::size_t t = 0; t < tiles; ++t) {
      const std::size_t row = g.m * t / tiles, rows = g.m * (t + 1) / tiles - row;
      if constexpr (MaxRows >= 4) {
        if (rows == 4) Tile::template run<4, streams>(g, panel, row);
      }
      if constexpr (MaxRows >= 3) {
        if (rows == 3) Tile::template run<3, streams>(g, panel, row);
      }
      if constexpr (MaxRows >= 2) {
        if (rows == 2) Tile::template run<2, streams>(g, panel, row);
      }
      // Tiles of up to three or four rows, split evenly, never leave a row alone.
      if constexpr (MaxRows <= 2) {
        if (rows == 1) Tile::template run<1, streams>(g, panel, row);
      }
    }
  }
}

/// One row of x has tiles of its own, with more streams.
template <class Tile>
void multiply_panels(const GemmArguments& g) noexcept {
  if (g.panel_begin == g.panel_end || g.m == 0) return;
  if (g.m == 1)
    walk_panels<Tile, 1>(g);
  else
    walk_panels<Tile, Tile::tile_rows>(g);
}
