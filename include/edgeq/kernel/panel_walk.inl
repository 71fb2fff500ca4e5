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

/// Converts 16 sums to y's type, or stores a part of the last panel. Out of line: inlined into every tile it
/// would double the kernels.
template <class = void>
[[gnu::noinline]] void store_converted(const GemmArguments& g, std::size_t m, std::size_t column,
                                       const float* sums) noexcept {
  const std::size_t rest = g.geometry->n - column, columns = rest < panel_columns ? rest : panel_columns;
  with_float_type(g.y_type, [&]<class T>(T) {
    T values[panel_columns];
    for (std::size_t i = 0; i < panel_columns; i += Simd::lanes)
      Simd::template store_stored<T>(values + i, Simd::template load_stored<float>(sums + i));
    __builtin_memcpy(static_cast<T*>(g.y) + m * g.y_stride + column, values, columns * sizeof(T));
  });
}

/// Writes 16 sums to row m of y from `column` on.
EDGEQ_INLINE void store_columns(const GemmArguments& g, std::size_t m, std::size_t column,
                                const typename Simd::Float (&row)[panel_columns / Simd::lanes]) noexcept {
  constexpr std::size_t registers = panel_columns / Simd::lanes;
  if (g.y_type == FloatType::f32 && g.geometry->n - column >= panel_columns) {
    float* y = static_cast<float*>(g.y) + m * g.y_stride + column;
    EDGEQ_FOR (r, registers) Simd::template store_stored<float>(y + r * Simd::lanes, row[r]);
  } else {
    alignas(64) float sums[panel_columns];
    EDGEQ_FOR (r, registers) Simd::template store_stored<float>(sums + r * Simd::lanes, row[r]);
    store_converted(g, m, column, sums);
  }
}

/// A register of columns with their bias, if there is one.
EDGEQ_INLINE typename Simd::Float with_bias(typename Simd::Float out, const GemmArguments& g,
                                            std::size_t column) noexcept {
  return g.bias == nullptr ? out : Simd::add(out, Simd::template load_stored<float>(g.bias + column));
}

/// Lines of a whole group, where the format knows its group and a group is one block of at most Limit k; 0
/// elsewhere.
template <class Format, std::size_t Limit = Format::accumulation_block>
inline constexpr std::size_t known_lines = Format::group <= 0 || Format::group > static_cast<int>(Limit)
                                               ? 0
                                               : (static_cast<std::size_t>(Format::group) -
                                                  1) / Format::k_per_line
                                                     + 1;

/// Calls block(group, k_begin, lines) for every block of at most Limit k of one group, in ascending order.
template <class Format, std::size_t Limit = Format::accumulation_block, class Block>
EDGEQ_INLINE void walk_blocks(const PanelGeometry& geometry, const Block& block) noexcept {
  constexpr std::size_t limit = Limit, per_line = Format::k_per_line;
  if constexpr (known_lines<Format, Limit> != 0) {
    const std::size_t full = geometry.k / static_cast<std::size_t>(Format::group);
    const std::size_t last =
        (geometry.k - full * static_cast<std::size_t>(Format::group) + per_line - 1) / per_line;
    for (std::size_t group = 0; group < geometry.groups; ++group)
      block(group, std::size_t{0}, group < full ? known_lines<Format, Limit> : last);
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
EDGEQ_INLINE HeaderPlace header_place(const std::uint8_t* panel, const PanelGeometry& geometry,
                                      std::size_t group) noexcept {
  return {panel + geometry.headers_offset(group, Format::groups_per_record),
          group % Format::groups_per_record};
}
template <class Format>
EDGEQ_INLINE std::size_t lines_offset(const PanelGeometry& geometry, std::size_t group) noexcept {
  return geometry.lines_offset(group, Format::groups_per_record, Format::header_bytes);
}

/// Calls tile(std::integral_constant<rows>, first row) for tiles that share `m` rows evenly, at most MaxRows
/// each. Where more than two rows are shared by tiles of three or four none is left alone: MinRows may be 2.
template <std::size_t MaxRows, std::size_t MinRows = 1, class Tile>
EDGEQ_INLINE void for_each_tile(std::size_t m, const Tile& tile) noexcept {
  const std::size_t tiles = (m + MaxRows - 1) / MaxRows;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t row = m * t / tiles, rows = m * (t + 1) / tiles - row;
    if constexpr (MaxRows >= 4) {
      if (rows == 4) tile(std::integral_constant<std::size_t, 4>{}, row);
    }
    if constexpr (MaxRows >= 3) {
      if (rows == 3) tile(std::integral_constant<std::size_t, 3>{}, row);
    }
    if constexpr (MaxRows >= 2) {
      if (rows == 2) tile(std::integral_constant<std::size_t, 2>{}, row);
    }
    if constexpr (MinRows == 1) {
      if (rows == 1) tile(std::integral_constant<std::size_t, 1>{}, row);
    }
  }
}

/// Runs Tile::run<rows, Streams> over the panels of `g`, at most MaxRows rows of x at a time.
template <class Tile, std::size_t MaxRows>
EDGEQ_INLINE void walk_panels(const GemmArguments& g) noexcept {
  constexpr std::size_t streams = streams_of(MaxRows, Tile::accumulators_per_row);
  const std::size_t count = g.panel_end - g.panel_begin;
  const std::size_t longest = (count + streams - 1) / streams;
  for (std::size_t i = 0; i < longest; ++i) {
    std::size_t panel[streams];
    for (std::size_t s = 0; s < streams; ++s) {
      const std::size_t begin = count * s / streams, end = count * (s + 1) / streams;
      const std::size_t last = end > begin ? end - 1 : begin;
      panel[s] = g.panel_begin + (begin + i < last ? begin + i : last);
    }
    for_each_tile<MaxRows, (MaxRows > 2 ? 2 : 1)>(
        g.m, [&]<std::size_t Rows>(std::integral_constant<std::size_t, Rows>, std::size_t row)
                 EDGEQ_INLINE_LAMBDA { Tile::template run<Rows, streams>(g, panel, row); });
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
