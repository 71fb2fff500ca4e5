// SPDX-License-Identifier: Apache-2.0
// Skeleton of vector kernels for bf16 dot products: any weights that bf16 holds exactly times bf16
// activations. Included once inside each ISA's region, over a Simd of 16 lanes and
//   Bf16Decoder<Format>        load() its tables; decode(line, pairs): a line as pairs of bf16, two k in each
//                              lane
//   dot_2(acc, pair, x)        acc += the products of both k

template <class Format>
struct PanelBf16 {
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;
  using Scaling = Bf16Scaling<Format>;
  using Decoder = Bf16Decoder<Format>;
  static_assert(Simd::lanes == panel_columns);
  static constexpr std::size_t pairs = Format::k_per_line / 2;
  static constexpr std::size_t accumulators_per_row = 1;
  static constexpr std::size_t tile_rows = Simd::tile_rows;
  /// From here on, weights are unpacked once for all rows.
  static constexpr std::size_t blocked_rows = 8;

  static EDGEQ_INLINE const std::uint8_t* x_of(const GemmArguments& g, std::size_t m, std::size_t group,
                                               std::size_t k) noexcept {
    return reinterpret_cast<const std::uint8_t*>(g.prepared + m * g.layout.row_bytes) +
           (group * g.geometry->x_group + k) * sizeof(std::uint16_t);
  }
  static EDGEQ_INLINE Int broadcast_pair(const std::uint8_t* x) noexcept { return Simd::set1(load_word(x)); }

  template <std::size_t Rows, std::size_t Streams>
  static EDGEQ_INLINE void run(const GemmArguments& g, const std::size_t (&panel)[Streams],
                               std::size_t row) noexcept {
    // vdpbf16ps takes six cycles and two start in each: fewer than eight sums would wait for one another.
    constexpr std::size_t chains = Rows * Streams >= 8 || pairs == 1 ? 1 : 2;
    const PanelGeometry& geometry = *g.geometry;
    Decoder decoder;
    decoder.load();
    Float out[Rows][Streams];
    EDGEQ_FOR (m, Rows)
      EDGEQ_FOR (s, Streams) out[m][s] = Simd::set1(0.0f);

    const auto multiply_block = [&](std::size_t group, std::size_t k_begin,
                                    std::size_t lines) EDGEQ_INLINE_LAMBDA {
      const std::uint8_t* line[Streams];
      EDGEQ_FOR (s, Streams)
        line[s] = g.panels + panel[s] * geometry.panel_bytes + lines_offset<Format>(geometry, group) +
                  k_begin / Format::k_per_line * Format::bytes_per_line;
      const std::uint8_t* x[Rows];
      EDGEQ_FOR (m, Rows) x[m] = x_of(g, row + m, group, k_begin);
      Float acc[Rows][Streams][chains];
      EDGEQ_FOR (m, Rows)
        EDGEQ_FOR (s, Streams)
          EDGEQ_FOR (c, chains) acc[m][s][c] = Simd::set1(0.0f);
      for_each_line<Format>(lines, [&]() EDGEQ_INLINE_LAMBDA {
        Int operand[Rows][pairs];
        EDGEQ_FOR (m, Rows)
          EDGEQ_FOR (p, pairs) operand[m][p] = broadcast_pair(x[m] + 4 * p);
        EDGEQ_FOR (s, Streams) {
          Simd::prefetch(line[s] + prefetch_bytes);
          Int weights[pairs];
          decoder.decode(line[s], weights);
          EDGEQ_FOR (m, Rows)
            EDGEQ_FOR (p, pairs) Simd::dot_2(acc[m][s][p % chains], weights[p], operand[m][p]);
          line[s] += Format::bytes_per_line;
        }
        EDGEQ_FOR (m, Rows) x[m] += 4 * pairs;
      });
      EDGEQ_FOR (s, Streams) {
        const typename Scaling::Header header = Scaling::load_header(
            header_place<Format>(g.panels + panel[s] * geometry.panel_bytes, geometry, group), 0);
        EDGEQ_FOR (m, Rows) {
          Float sum = acc[m][s][0];
          if constexpr (chains == 2) sum = Simd::add(sum, acc[m][s][1]);
          Scaling::add_block(out[m][s], sum, header, Scaling::sum_of_x(g, row + m, group, k_begin));
        }
      }
    };
    walk_blocks<Format>(geometry, multiply_block);

    EDGEQ_FOR (s, Streams)
      EDGEQ_FOR (m, Rows) {
        const std::size_t column = panel[s] * panel_columns;
        const Float y[1] = {Scaling::finish(out[m][s], g, row + m, column)};
        store_columns(g, row + m, column, y);
      }
  }

  static void gemm(const GemmArguments& g) noexcept {
    if (g.m < blocked_rows)
      multiply_panels<PanelBf16>(g);
    else
      multiply_blocked<Blocked>(g, 0, g.m);
  }

  /// Four panels of a chunk, unpacked: for every two k the pairs of four panels side by side, 256 bytes.
  struct Blocked : Scaling {
    static constexpr std::size_t panels = 4, rows = 128, tile_rows = 4;
    static constexpr std::size_t max_k = 256, max_blocks = 32, block_limit = 256;  // 32 KiB unpacked
    static constexpr std::size_t step(const PanelGeometry&) noexcept { return Format::k_per_line; }

    struct Workspace {
      alignas(64) float out[rows][panels][panel_columns];
      alignas(64) std::uint8_t unpacked[max_k / 2][panels][line_bytes];
    };

    static void unpack(const GemmArguments& g, const std::size_t (&panel)[panels],
                       const Chunk<max_blocks>& chunk, Workspace& w) noexcept {
      Decoder decoder;
      decoder.load();
      std::size_t k2 = 0;
      for (std::size_t b = 0; b < chunk.count; ++b) {
        const ChunkBlock& block = chunk.block[b];
        for (std::size_t s = 0; s < panels; ++s) {
          const std::uint8_t* line = g.panels + panel[s] * g.geometry->panel_bytes +
                                     lines_offset<Format>(*g.geometry, block.group) +
                                     block.k_begin / Format::k_per_line * Format::bytes_per_line;
          for (std::size_t l = 0; l < block.lines; ++l, line += Format::bytes_per_line) {
            Simd::prefetch(line + prefetch_bytes);
            Int pair[pairs];
            decoder.decode(line, pair);
            EDGEQ_FOR (p, pairs) Simd::store_codes(w.unpacked[k2 + l * pairs + p][s], pair[p]);
          }
        }
        k2 += block.lines * pairs;
      }
    }

    template <std::size_t Rows>
    static EDGEQ_INLINE void run(const GemmArguments& g, const std::size_t (&panel)[panels],
                                 const Chunk<max_blocks>& chunk, Workspace& w, std::size_t m,
                                 std::size_t row) noexcept {
      const std::uint8_t* weights = w.unpacked[0][0];
      Float out[Rows][panels][1];
      EDGEQ_FOR (i, Rows)
        EDGEQ_FOR (s, panels) begin_sums(chunk.is_first, w.out[row + i][s], out[i][s]);
      for (std::size_t b = 0; b < chunk.count; ++b) {
        const ChunkBlock& block = chunk.block[b];
        const std::uint8_t* x[Rows];
        EDGEQ_FOR (i, Rows) x[i] = x_of(g, m + row + i, block.group, block.k_begin);
        Float acc[Rows][panels];
        EDGEQ_FOR (i, Rows)
          EDGEQ_FOR (s, panels) acc[i][s] = Simd::set1(0.0f);
        for (std::size_t k2 = 0; k2 < block.lines * pairs; ++k2) {
          Int pair[panels];
          EDGEQ_FOR (s, panels) pair[s] = Simd::load_codes(weights + s * line_bytes);
          EDGEQ_FOR (i, Rows) {
            const Int operand = broadcast_pair(x[i] + 4 * k2);
            EDGEQ_FOR (s, panels) Simd::dot_2(acc[i][s], pair[s], operand);
          }
          weights += panels * line_bytes;
        }
        EDGEQ_FOR (s, panels) {
          const typename Scaling::Header header = Scaling::load_header(
              header_place<Format>(g.panels + panel[s] * g.geometry->panel_bytes, *g.geometry, block.group),
              0);
          EDGEQ_FOR (i, Rows)
            Scaling::add_block(out[i][s][0], acc[i][s], header,
                               Scaling::sum_of_x(g, m + row + i, block.group, block.k_begin));
        }
      }
      EDGEQ_FOR (i, Rows)
        EDGEQ_FOR (s, panels)
          end_sums<Blocked>(chunk.is_last, w.out[row + i][s], g, m + row + i, panel[s] * panel_columns,
                            out[i][s]);
    }

    static void multiply(const GemmArguments& g, const std::size_t (&panel)[panels],
                         const Chunk<max_blocks>& chunk, Workspace& w, std::size_t m,
                         std::size_t rows_now) noexcept {
      for_each_tile<tile_rows>(
          rows_now, [&]<std::size_t Rows>(std::integral_constant<std::size_t, Rows>, std::size_t row)
                        EDGEQ_INLINE_LAMBDA { run<Rows>(g, panel, chunk, w, m, row); });
    }
  };

  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    return PreparedLayout::of_bf16(geometry);
  }
  /// Pairs of 16-bit weights are neighbours in k already.
  static constexpr PrepareFunction prepare = &round_rows<Scaling::is_scaled>;
};
