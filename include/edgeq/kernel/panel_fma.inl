// SPDX-License-Identifier: Apache-2.0
// Skeleton of every float kernel in float arithmetic: any weights times f32 activations, or activations
// rounded to bf16, included once inside each ISA's region.

template <class Format, class Activation>
struct PanelFma {
  static_assert(!Activation::is_integer);
  using Float = typename Simd::Float;
  static constexpr std::size_t registers = panel_columns / Simd::lanes;
  static constexpr std::size_t accumulators_per_row = registers;
  static constexpr std::size_t tile_rows = Simd::tile_rows;

  using Weight = FloatWeightOf<Format>;
  using Header = typename Weight::Header;

  template <std::size_t Rows, std::size_t Streams>
  static EDGEQ_INLINE void run(const GemmArguments& g, const std::size_t (&panel)[Streams],
                               std::size_t row) noexcept {
    const PanelGeometry& geometry = *g.geometry;
    Float out[Rows][Streams][registers];
    EDGEQ_FOR (m, Rows)
      EDGEQ_FOR (s, Streams)
        EDGEQ_FOR (r, registers) out[m][s][r] = Simd::set1(0.0f);

    const auto multiply_block = [&](std::size_t group, std::size_t k_begin,
                                    std::size_t lines) EDGEQ_INLINE_LAMBDA {
      const std::uint8_t* line[Streams];
      Header header[Streams][registers];
      EDGEQ_FOR (s, Streams) {
        const std::uint8_t* first = g.panels + panel[s] * geometry.panel_bytes;
        line[s] = first + lines_offset<Format>(geometry, group) +
                  k_begin / Format::k_per_line * Format::bytes_per_line;
        EDGEQ_FOR (r, registers) {
          header[s][r] = Weight::load_header(header_place<Format>(first, geometry, group), r * Simd::lanes);
        }
      }
      const float* x[Rows];
      EDGEQ_FOR (m, Rows)
        x[m] = reinterpret_cast<const float*>(g.prepared + (row + m) * g.layout.row_bytes) +
               group * geometry.x_group + k_begin;

      for (std::size_t l = 0; l < lines; ++l) {
        const auto element = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) EDGEQ_INLINE_LAMBDA {
          EDGEQ_FOR (s, Streams)
            EDGEQ_FOR (r, registers) {
              const Float w = Weight::template value<I>(line[s] + r * Simd::lanes * 4, header[s][r]);
              EDGEQ_FOR (m, Rows) out[m][s][r] = Simd::fma(w, Simd::set1(x[m][I]), out[m][s][r]);
            }
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) EDGEQ_INLINE_LAMBDA {
          (element(std::integral_constant<std::size_t, I>{}), ...);
        }
        (std::make_index_sequence<Format::k_per_line>{});
        EDGEQ_FOR (s, Streams) {
          line[s] += Format::bytes_per_line;
          Simd::prefetch(line[s] + prefetch_bytes);
        }
        EDGEQ_FOR (m, Rows) x[m] += Format::k_per_line;
      }
    };
    walk_blocks<Format>(geometry, multiply_block);

    EDGEQ_FOR (s, Streams) {
      const std::size_t column = panel[s] * panel_columns;
      EDGEQ_FOR (m, Rows) {
        EDGEQ_FOR (r, registers) out[m][s][r] = with_bias(out[m][s][r], g, column + r * Simd::lanes);
        store_columns(g, row + m, column, out[m][s]);
      }
    }
  }

  /// From here on, codes are converted once for all rows. It does not pay for weights that are floats
  /// already, nor without registers for a tile.
  static constexpr std::size_t blocked_rows = 8;
  static void gemm(const GemmArguments& g) noexcept {
    if constexpr (Weight::is_scaled && Simd::accumulators > 1) {
      if (g.m >= blocked_rows) return multiply_blocked<BlockedFma<Format>>(g, 0, g.m);
    }
    multiply_panels<PanelFma>(g);
  }
  static PreparedLayout layout(const PanelGeometry& geometry) noexcept {
    return PreparedLayout::of_floats(geometry);
  }
  static constexpr PrepareFunction prepare = &copy_rows<Activation>;
};
