// SPDX-License-Identifier: Apache-2.0
// Skeleton of every integer kernel: codes times 8-bit or 16-bit activations, included once inside each ISA's
// region.
// See integer_scaling.inl for the numerics contract.

template <class Format, class Activation>
struct PanelDot {
  using Codec = typename Format::Codec;
  using Scaling = IntegerScaling<Format, Activation>;
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;
  static constexpr std::size_t registers = panel_columns / Simd::lanes;
  static constexpr std::size_t planes = Activation::planes;
  static constexpr std::size_t accumulators_per_row = registers * planes;
  /// Each row of each plane keeps two broadcasts of x in registers.
  static constexpr std::size_t tile_rows = Simd::tile_rows < planes ? 1 : Simd::tile_rows / planes;

  /// acc += one line of codes times the x of each plane.
  template <std::size_t Rows, std::size_t Streams>
  static EDGEQ_INLINE void accumulate(Int (&acc)[Rows][Streams][registers][planes],
                                      const std::uint8_t* const (&line)[Streams],
                                      const std::int8_t* const (&x)[Rows], std::size_t plane_bytes) noexcept {
    constexpr std::size_t words = Codec::k_per_line / 4;
    Int operand[Rows][planes][words];
    EDGEQ_FOR (m, Rows)
      EDGEQ_FOR (p, planes)
        EDGEQ_FOR (w, words) operand[m][p][w] = Simd::broadcast_4(x[m] + p * plane_bytes + w * 4);
    EDGEQ_FOR (s, Streams) {
      Simd::prefetch(line[s] + prefetch_bytes);
      EDGEQ_FOR (r, registers) {
        Int values[words];
        unpack_values<Codec>(line[s] + r * Simd::lanes * 4, values);
        EDGEQ_FOR (m, Rows)
          EDGEQ_FOR (p, planes)
            Simd::template dot<Codec::largest_value>(acc[m][s][r][p], values, operand[m][p]);
      }
    }
  }

  template <std::size_t Rows, std::size_t Streams>
  static EDGEQ_INLINE void run(const GemmArguments& g, const std::size_t (&panel)[Streams],
                               std::size_t row) noexcept {
    const PanelGeometry& geometry = *g.geometry;
    const std::uint8_t* first[Streams];
    EDGEQ_FOR (s, Streams) first[s] = g.panels + panel[s] * geometry.panel_bytes;
    typename Scaling::Row rows[Rows];
    EDGEQ_FOR (m, Rows) rows[m] = Scaling::row(g, row + m);

    Float out[Rows][Streams][registers];
    EDGEQ_FOR (m, Rows)
      EDGEQ_FOR (s, Streams)
        EDGEQ_FOR (r, registers) out[m][s][r] = Simd::set1(0.0f);

    std::size_t block = 0;
    const auto multiply_block = [&](std::size_t group, std::size_t k_begin,
                                    std::size_t lines) EDGEQ_INLINE_LAMBDA {
      HeaderPlace header[Streams];
      EDGEQ_FOR (s, Streams) header[s] = header_place<Format>(first[s], geometry, group);
      Int acc[Rows][Streams][registers][planes];
      EDGEQ_FOR (m, Rows)
        EDGEQ_FOR (s, Streams)
          EDGEQ_FOR (r, registers) {
            if constexpr (planes == 2) acc[m][s][r][0] = Simd::set1(0);
            acc[m][s][r][planes - 1] = Scaling::start(header[s], r * Simd::lanes, rows[m].sum(block));
          }
      const std::uint8_t* line[Streams];
      EDGEQ_FOR (s, Streams)
        line[s] = first[s] + lines_offset<Format>(geometry, group) +
                  k_begin / Format::k_per_line * Format::bytes_per_line;
      const std::int8_t* x[Rows];
      EDGEQ_FOR (m, Rows)
        x[m] = reinterpret_cast<const std::int8_t*>(rows[m].data) + group * geometry.x_group + k_begin;
      for_each_line<Format>(lines, [&]() EDGEQ_INLINE_LAMBDA {
        accumulate<Rows, Streams>(acc, line, x, g.layout.plane_bytes);
        EDGEQ_FOR (s, Streams) line[s] += Format::bytes_per_line;
        EDGEQ_FOR (m, Rows) x[m] += Codec::k_per_line;
      });
      EDGEQ_FOR (s, Streams)
        EDGEQ_FOR (r, registers) {
          const typename Scaling::Header columns = Scaling::load_header(header[s], r * Simd::lanes);
          EDGEQ_FOR (m, Rows)
            Scaling::add_block(out[m][s][r], acc[m][s][r][0], acc[m][s][r][planes - 1], columns, rows[m],
                               group, block);
        }
      ++block;
    };
    walk_blocks<Format>(geometry, multiply_block);

    EDGEQ_FOR (s, Streams) {
      const std::size_t column = panel[s] * panel_columns;
      EDGEQ_FOR (m, Rows) {
        EDGEQ_FOR (r, registers)
          out[m][s][r] = Scaling::finish(out[m][s][r], g, rows[m], column + r * Simd::lanes);
        store_columns(g, row + m, column, out[m][s]);
      }
    }
  }

  static void gemm(const GemmArguments& g) noexcept { multiply_panels<PanelDot>(g); }
  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    return PreparedLayout::of_codes<Activation>(geometry);
  }
  static constexpr PrepareFunction prepare = &quantize_rows<Activation>;
};
