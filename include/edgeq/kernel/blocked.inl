// SPDX-License-Identifier: Apache-2.0
// How kernels multiply many rows by weights that cost something to unpack: once for a block of rows, into a
// buffer in the first-level cache. Included inside an ISA's region.
//
// For every few adjacent panels and every block of rows, K is walked in chunks of whole accumulation blocks.
// A chunk is unpacked, then all row tiles of the block multiply by it; sums wait in the workspace between
// chunks. At 128 rows the unpacking is amortized to a few percent, and the workspace is a few dozen KiB of
// stack.

/// One accumulation block of a chunk.
struct ChunkBlock {
  std::size_t group, k_begin, lines;
  std::size_t index;  ///< among the blocks of K
};

template <std::size_t MaxBlocks>
struct Chunk {
  ChunkBlock block[MaxBlocks];
  std::size_t count;
  bool is_first, is_last;  ///< of K
};

/// Calls body(chunk) for runs of consecutive blocks: at most MaxBlocks of them, of at most MaxK elements when
/// each is padded to a multiple of `step`.
template <class Format, std::size_t MaxBlocks, std::size_t MaxK, std::size_t Limit, class Body>
EDGEQ_INLINE void walk_chunks(const PanelGeometry& geometry, std::size_t step, const Body& body) noexcept {
  Chunk<MaxBlocks> chunk;
  chunk.count = 0;
  chunk.is_first = true;
  chunk.is_last = false;
  std::size_t used = 0, index = 0;
  walk_blocks<Format, Limit>(geometry, [&](std::size_t group, std::size_t k_begin, std::size_t lines) {
    const std::size_t padded = round_up(lines * Format::k_per_line, step);
    if (chunk.count == MaxBlocks || used + padded > MaxK) {
      body(chunk);
      chunk.count = used = 0;
      chunk.is_first = false;
    }
    chunk.block[chunk.count++] = {group, k_begin, lines, index++};
    used += padded;
  });
  chunk.is_last = true;
  body(chunk);  // without a block only where K is 0
}

/// What the sums of a panel's row begin with in a chunk.
template <std::size_t Registers>
EDGEQ_INLINE void begin_sums(bool is_first, const float* from,
                             typename Simd::Float (&out)[Registers]) noexcept {
  EDGEQ_FOR (r, Registers)
    out[r] = is_first ? Simd::set1(0.0f) : Simd::template load_stored<float>(from + r * Simd::lanes);
}
/// Keeps the sums for the next chunk, or makes y of them.
template <class Tile, std::size_t Registers>
EDGEQ_INLINE void end_sums(bool is_last, float* to, const GemmArguments& g, std::size_t m, std::size_t column,
                           typename Simd::Float (&out)[Registers]) noexcept {
  if (is_last) {
    EDGEQ_FOR (r, Registers) out[r] = Tile::finish(out[r], g, m, column + r * Simd::lanes);
    store_columns(g, m, column, out);
  } else {
    EDGEQ_FOR (r, Registers) Simd::template store_stored<float>(to + r * Simd::lanes, out[r]);
  }
}

/// A Tile offers
///   panels, rows, step, max_blocks, max_k, block_limit     its sizes; `step` as in walk_chunks
///   Workspace                                       out[rows][panels][16] and what it unpacks into
///   unpack(g, panel, chunk, workspace)              the weights of the panels
///   multiply(g, panel, chunk, workspace, m, rows)   adds their products with rows m .. m + rows - 1
///   finish(out, g, m, column)                       y of a register of columns
template <class Tile>
void multiply_blocked(const GemmArguments& g, std::size_t row_begin, std::size_t row_end) noexcept {
  typename Tile::Workspace workspace;
  for (std::size_t first = g.panel_begin; first < g.panel_end; first += Tile::panels) {
    std::size_t panel[Tile::panels];
    for (std::size_t s = 0; s < Tile::panels; ++s)
      panel[s] = first + s < g.panel_end ? first + s : g.panel_end - 1;  // stores the same values again
    for (std::size_t m = row_begin; m < row_end; m += Tile::rows) {
      const std::size_t rows = row_end - m < Tile::rows ? row_end - m : Tile::rows;
      walk_chunks<typename Tile::Format, Tile::max_blocks, Tile::max_k, Tile::block_limit>(
          *g.geometry, Tile::step(*g.geometry), [&](const Chunk<Tile::max_blocks>& chunk) {
            Tile::unpack(g, panel, chunk, workspace);
            Tile::multiply(g, panel, chunk, workspace, m, rows);
          });
    }
  }
}
