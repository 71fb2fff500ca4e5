// SPDX-License-Identifier: Apache-2.0
// Skeleton of the tile kernels: AMX products of 16 x 16 accumulators over the same panels, included inside an
// ISA's region, over its Simd and a Core (integer_core.inl, bf16_core.inl).
//
// Tiles 0..3 are accumulators in a square, 4 and 5 hold x, 6 and 7 weights: every load serves two products.
// Down the square go 32 rows of x, or 16 rows in two planes; across it 32 columns, two panels. The weights of
// a chunk are unpacked once for up to 128 rows into rows of a B tile (four bytes, or two bf16, of each column
// in 64 bytes); lines that have this form already are read where they are.
//
// An accumulation block is cut into equal steps of at most 64 bytes of x, so one shape of tiles serves all of
// K; a block that is shorter is filled up with weights of 0, whatever x follows there. The accumulators of
// every block are stored; then the sums of up to sixteen blocks are scaled into a row of out at once, in the
// order of the numerics contract: so out is loaded and stored once for all of them.

template <class Core>
struct TileProduct {
  using Format = typename Core::Format;
  using Float = typename Simd::Float;
  static constexpr std::size_t registers = panel_columns / Simd::lanes;
  static constexpr std::size_t planes = Core::planes;

  /// Rows of x that a square of accumulators takes.
  static constexpr std::size_t square_rows = 32 / planes;
  static constexpr std::size_t panels = 2, rows = 128;
  static constexpr std::size_t block_limit = Format::accumulation_block, max_k = 512;
  static constexpr std::size_t max_blocks = Format::group <= 0 || Format::group < 32 ? 16
                                            : Format::group >= 512
                                                ? 1
                                                : 512 / static_cast<std::size_t>(Format::group);
  /// k in one row of a B tile, and in a whole one.
  static constexpr std::size_t row_k = 4 / Core::element_bytes, tile_k = 16 * row_k;
  /// The kernel reads this far beyond a row's elements at most.
  static constexpr std::size_t overrun = 64;

  /// k of one product: blocks of the regular length take the fewest, equally long.
  static constexpr std::size_t step(const PanelGeometry& geometry) noexcept {
    const std::size_t group = round_up(geometry.group, Format::k_per_line);
    const std::size_t block = group < block_limit ? group : block_limit;
    return round_up(divide_up(block, divide_up(block, tile_k)), Format::k_per_line);
  }

  struct Workspace {
    alignas(64) float out[rows][panels][panel_columns];
    alignas(64) std::uint8_t unpacked[panels][max_k / row_k][line_bytes];
    alignas(64) std::uint8_t sums[max_blocks][4][16][line_bytes];
    alignas(64) typename Core::Header header[max_blocks][panels][registers];
    const std::uint8_t* weights[max_blocks][panels];  // the rows of the block's B tiles
  };

  static void unpack(const GemmArguments& g, const std::size_t (&panel)[panels],
                     const Chunk<max_blocks>& chunk, Workspace& w) noexcept {
    const PanelGeometry& geometry = *g.geometry;
    Core core;
    core.load();
    for (std::size_t s = 0; s < panels; ++s) {
      const std::uint8_t* first = g.panels + panel[s] * geometry.panel_bytes;
      std::uint8_t* to = w.unpacked[s][0];
      for (std::size_t b = 0; b < chunk.count; ++b) {
        const ChunkBlock& block = chunk.block[b];
        const std::uint8_t* line = first + lines_offset<Format>(geometry, block.group) +
                                   block.k_begin / Format::k_per_line * Format::bytes_per_line;
        const std::size_t k = block.lines * Format::k_per_line, padded = round_up(k, step(geometry));
        EDGEQ_FOR (r, registers)
          w.header[b][s][r] = Core::load_header(header_place<Format>(first, geometry, block.group), r);
        if (Core::is_tile_row && k == padded) {
          w.weights[b][s] = line;
          continue;
        }
        w.weights[b][s] = to;
        for (std::size_t l = 0; l < block.lines; ++l, line += Format::bytes_per_line) {
          Simd::prefetch(line + prefetch_bytes);
          core.unpack_line(line, to);
          to += Format::k_per_line / row_k * line_bytes;
        }
        const std::size_t rest = (padded - k) / row_k * line_bytes;
        __builtin_memset(to, 0, rest);
        to += rest;
      }
    }
  }

  /// Sums of one block for `count` rows: `x` is row 0's first element of it.
  static void multiply_block(const std::uint8_t* const (&weights)[panels], const std::byte* x,
                             std::size_t row_bytes, std::size_t plane_bytes, std::size_t steps,
                             std::size_t step_k, bool is_square,
                             std::uint8_t (&sums)[4][16][line_bytes]) noexcept {
    const std::byte* lower = x + (planes == 2 ? plane_bytes : 16 * row_bytes);
    amx::zero<0>();
    amx::zero<1>();
    if (is_square) {
      amx::zero<2>();
      amx::zero<3>();
    }
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t x_offset = i * step_k * Core::element_bytes,
                        offset = i * (step_k / row_k) * line_bytes;
      amx::load<6>(weights[0] + offset, line_bytes);
      amx::load<7>(weights[1] + offset, line_bytes);
      amx::load<4>(x + x_offset, row_bytes);
      Core::template dot<0, 4, 6>();
      Core::template dot<1, 4, 7>();
      if (is_square) {
        amx::load<5>(lower + x_offset, row_bytes);
        Core::template dot<2, 5, 6>();
        Core::template dot<3, 5, 7>();
      }
    }
    amx::store<0>(sums[0], line_bytes);
    amx::store<1>(sums[1], line_bytes);
    if (is_square) {
      amx::store<2>(sums[2], line_bytes);
      amx::store<3>(sums[3], line_bytes);
    }
  }

  static void multiply(const GemmArguments& g, const std::size_t (&panel)[panels],
                       const Chunk<max_blocks>& chunk, Workspace& w, std::size_t m,
                       std::size_t rows_now) noexcept {
    const PanelGeometry& geometry = *g.geometry;
    const std::size_t step_k = step(geometry);
    for (std::size_t row = 0; row < rows_now; row += square_rows) {
      const std::size_t count = rows_now - row < square_rows ? rows_now - row : square_rows;
      const std::byte* x = g.prepared + (m + row) * g.layout.row_bytes;
      for (std::size_t b = 0; b < chunk.count; ++b) {
        const ChunkBlock& block = chunk.block[b];
        multiply_block(
            w.weights[b], x + (block.group * geometry.x_group + block.k_begin) * Core::element_bytes,
            g.layout.row_bytes, g.layout.plane_bytes, divide_up(block.lines * Format::k_per_line, step_k),
            step_k, planes == 2 || count > 16, w.sums[b]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const typename Core::Row x_row = Core::row(g, m + row + i);
        for (std::size_t s = 0; s < panels; ++s)
          scale_sums(g, panel[s], chunk, w, s, m + row + i, row + i, i, x_row);
      }
    }
  }

  /// Adds the sums of row i of a square to row `to` of out, which is row m of y.
  static EDGEQ_INLINE void scale_sums(const GemmArguments& g, std::size_t panel,
                                      const Chunk<max_blocks>& chunk, Workspace& w, std::size_t s,
                                      std::size_t m, std::size_t to, std::size_t i,
                                      const typename Core::Row& x_row) noexcept {
    const std::size_t upper = planes == 2 ? s : i / 16 * 2 + s, lower = planes == 2 ? 2 + s : upper;
    const std::uint8_t* headers = g.panels + panel * g.geometry->panel_bytes;
    Float out[registers];
    begin_sums(chunk.is_first, w.out[to][s], out);
    for (std::size_t b = 0; b < chunk.count; ++b) {
      const ChunkBlock& block = chunk.block[b];
      EDGEQ_FOR (r, registers) {
        const std::size_t lane = r * Simd::lanes;
        Core::add_block(out[r], w.sums[b][upper][i % 16] + lane * 4, w.sums[b][lower][i % 16] + lane * 4,
                        w.header[b][s][r], header_place<Format>(headers, *g.geometry, block.group), lane,
                        x_row, block);
      }
    }
    end_sums<TileProduct>(chunk.is_last, w.out[to][s], g, m, panel * panel_columns, out);
  }

  static Float finish(Float out, const GemmArguments& g, std::size_t m, std::size_t column) noexcept {
    return Core::finish(out, g, m, column);
  }

  /// The shape of all tiles for squares of `count` rows.
  static amx::TileConfig config(const PanelGeometry& geometry, std::size_t count) noexcept {
    const std::size_t step_k = step(geometry), above = planes == 2 || count < 16 ? count : 16,
                      below = planes == 2 ? count : count - above;
    amx::TileConfig config;
    config.set(0, above, line_bytes);
    config.set(1, above, line_bytes);
    config.set(4, above, step_k * Core::element_bytes);
    if (below != 0) {
      config.set(2, below, line_bytes);
      config.set(3, below, line_bytes);
      config.set(5, below, step_k * Core::element_bytes);
    }
    config.set(6, step_k / row_k, line_bytes);
    config.set(7, step_k / row_k, line_bytes);
    return config;
  }

  /// Full squares first, then the rest, which has tiles of another shape: two configurations a call at most.
  static void gemm(const GemmArguments& g) noexcept {
    const std::size_t full = g.m / square_rows * square_rows;
    if (g.panel_begin == g.panel_end) return;
    if (full != 0) {
      const amx::TileSession session(config(*g.geometry, square_rows));
      multiply_blocked<TileProduct>(g, 0, full);
    }
    if (full != g.m) {
      const amx::TileSession session(config(*g.geometry, g.m - full));
      multiply_blocked<TileProduct>(g, full, g.m);
    }
  }
  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    return Core::layout(geometry, overrun);
  }
  static constexpr PrepareFunction prepare = Core::prepare;
};
