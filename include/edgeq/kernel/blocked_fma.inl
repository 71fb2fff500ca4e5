// SPDX-License-Identifier: Apache-2.0
// Skeleton of float kernels for many rows: weights become floats once for up to 128 rows of x. Included
// inside an ISA's region, over panel_fma.inl's parts.

/// A tile for multiply_blocked. Unpacked weights of a few panels are 32 KiB.
template <class FormatType>
struct BlockedFma {
  using Format = FormatType;
  using Float = typename Simd::Float;
  using Weight = FloatWeightOf<Format>;
  static constexpr std::size_t registers = panel_columns / Simd::lanes;
  static constexpr std::size_t tile_rows = Simd::tile_rows;
  static constexpr std::size_t panels = streams_of(tile_rows, registers), rows = 128;
  static constexpr std::size_t max_k = 512 / panels, max_blocks = 32, block_limit = max_k;
  static constexpr std::size_t step(const PanelGeometry&) noexcept { return Format::k_per_line; }

  struct Workspace {
    alignas(64) float out[rows][panels][panel_columns];
    alignas(64) float unpacked[max_k][panels][panel_columns];
  };

  static void unpack(const GemmArguments& g, const std::size_t (&panel)[panels],
                     const Chunk<max_blocks>& chunk, Workspace& w) noexcept {
    std::size_t k = 0;
    for (std::size_t b = 0; b < chunk.count; ++b) {
      const ChunkBlock& block = chunk.block[b];
      for (std::size_t s = 0; s < panels; ++s) {
        const std::uint8_t* first = g.panels + panel[s] * g.geometry->panel_bytes;
        const std::uint8_t* line = first + lines_offset<Format>(*g.geometry, block.group) +
                                   block.k_begin / Format::k_per_line * Format::bytes_per_line;
        typename Weight::Header header[registers];
        EDGEQ_FOR (r, registers)
          header[r] =
              Weight::load_header(header_place<Format>(first, *g.geometry, block.group), r * Simd::lanes);
        for (std::size_t l = 0; l < block.lines; ++l, line += Format::bytes_per_line) {
          Simd::prefetch(line + prefetch_bytes);
          const auto element = [&]<std::size_t I>(std::integral_constant<std::size_t, I>)
                                   EDGEQ_INLINE_LAMBDA {
                                     EDGEQ_FOR (r, registers)
                                       Simd::template store_stored<float>(
                                           w.unpacked[k + l * Format::k_per_line + I][s] + r * Simd::lanes,
                                           Weight::template value<I>(line + r * Simd::lanes * 4, header[r]));
                                   };
          [&]<std::size_t... I>(std::index_sequence<I...>) EDGEQ_INLINE_LAMBDA {
            (element(std::integral_constant<std::size_t, I>{}), ...);
          }
          (std::make_index_sequence<Format::k_per_line>{});
        }
      }
      k += block.lines * Format::k_per_line;
    }
  }

  template <std::size_t Rows>
  static EDGEQ_INLINE void run(const GemmArguments& g, const std::size_t (&panel)[panels],
                               const Chunk<max_blocks>& chunk, Workspace& w, std::size_t m,
                               std::size_t row) noexcept {
    const float* weights = w.unpacked[0][0];
    Float out[Rows][panels][registers];
    EDGEQ_FOR (i, Rows)
      EDGEQ_FOR (s, panels) begin_sums(chunk.is_first, w.out[row + i][s], out[i][s]);
    for (std::size_t b = 0; b < chunk.count; ++b) {
      const ChunkBlock& block = chunk.block[b];
      const float* x[Rows];
      EDGEQ_FOR (i, Rows)
        x[i] = reinterpret_cast<const float*>(g.prepared + (m + row + i) * g.layout.row_bytes) +
               block.group * g.geometry->x_group + block.k_begin;
      for (std::size_t k = 0; k < block.lines * Format::k_per_line; ++k) {
        Float weight[panels][registers];
        EDGEQ_FOR (s, panels)
          EDGEQ_FOR (r, registers)
            weight[s][r] = Simd::template load_stored<float>(weights + s * panel_columns + r * Simd::lanes);
        EDGEQ_FOR (i, Rows) {
          const Float operand = Simd::set1(x[i][k]);
          EDGEQ_FOR (s, panels)
            EDGEQ_FOR (r, registers) out[i][s][r] = Simd::fma(weight[s][r], operand, out[i][s][r]);
        }
        weights += panels * panel_columns;
      }
    }
    EDGEQ_FOR (i, Rows)
      EDGEQ_FOR (s, panels)
        end_sums<BlockedFma>(chunk.is_last, w.out[row + i][s], g, m + row + i, panel[s] * panel_columns,
                             out[i][s]);
  }

  static void multiply(const GemmArguments& g, const std::size_t (&panel)[panels],
                       const Chunk<max_blocks>& chunk, Workspace& w, std::size_t m,
                       std::size_t rows_now) noexcept {
    for_each_tile<tile_rows>(rows_now,
                             [&]<std::size_t Rows>(std::integral_constant<std::size_t, Rows>, std::size_t row)
                                 EDGEQ_INLINE_LAMBDA { run<Rows>(g, panel, chunk, w, m, row); });
  }

  static EDGEQ_INLINE Float finish(Float out, const GemmArguments& g, std::size_t,
                                   std::size_t column) noexcept {
    return with_bias(out, g, column);
  }
};
