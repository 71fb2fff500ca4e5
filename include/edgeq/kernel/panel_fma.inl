// SPDX-License-Identifier: Apache-2.0
// Skeleton of every float kernel: any weights times f32 activations, included once inside each ISA's region.
//
// A weight is formed as decode() forms it, to the bit, so the error is that of the sums alone; scaling a
// group's sum instead would save a multiplication, and overflow where x is large and scales are small.

template <class Format, class Activation>
struct PanelFma {
  static_assert(!Activation::is_integer);
  using Float = typename Simd::Float;
  static constexpr std::size_t registers = panel_columns / Simd::lanes;
  static constexpr bool is_scaled = Format::header_bytes != 0;
  static constexpr std::size_t accumulators_per_row = registers;
  static constexpr std::size_t tile_rows = Simd::tile_rows;

  /// What turns one column's code into a weight; nothing, for float formats.
  struct Header {
    Float scale;
    Float offset;  // the zero as a float, or the minimum
  };
  static EDGEQ_INLINE Header load_header(const std::uint8_t* packed, std::size_t column) noexcept {
    Header header;  // an implicit constructor would not belong to the region: no initializers
    header.scale = header.offset = Simd::set1(0.0f);
    if constexpr (is_scaled) {
      using Offset = typename Format::Offset;
      using Scale = typename Format::Scale;
      header.scale = Simd::template load_scale<Scale>(packed + column * sizeof(Scale));
      if constexpr (Offset::has_minima)
        header.offset =
            Simd::template load_scale<Scale>(packed + Format::minima_offset + column * sizeof(Scale));
      else if constexpr (Offset::has_zeros)
        header.offset = Simd::to_float(Simd::widen_bytes(packed + Format::zeros_offset + column));
      else
        header.offset = Simd::set1(static_cast<float>(Format::Codec::midpoint));
    }
    return header;
  }

  /// The weights of the columns at element I of a line.
  template <std::size_t I>
  static EDGEQ_INLINE Float weight(const std::uint8_t* line, const Header& header) noexcept {
    if constexpr (!is_scaled) {
      return Simd::template load_weight<typename Format::Element, I>(line);
    } else {
      const Float code =
          Simd::to_float(Simd::template extract<typename Format::Codec, I>(Simd::load_codes(line)));
      if constexpr (Format::Offset::has_minima)
        return Simd::fma(code, header.scale, header.offset);
      else
        return Simd::multiply(Simd::subtract(code, header.offset), header.scale);
    }
  }

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
        line[s] = first + lines_offset<Format>(geometry, group) + k_begin / Format::k_per_line * line_bytes;
        EDGEQ_FOR (r, registers) {
          header[s][r] = load_header(first + header_offset<Format>(geometry, group), r * Simd::lanes);
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
              const Float w = weight<I>(line[s] + r * Simd::lanes * 4, header[s][r]);
              EDGEQ_FOR (m, Rows) out[m][s][r] = Simd::fma(w, Simd::set1(x[m][I]), out[m][s][r]);
            }
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) EDGEQ_INLINE_LAMBDA {
          (element(std::integral_constant<std::size_t, I>{}), ...);
        }
        (std::make_index_sequence<Format::k_per_line>{});
        EDGEQ_FOR (s, Streams) {
          line[s] += line_bytes;
          Simd::prefetch(line[s] + prefetch_bytes);
        }
        EDGEQ_FOR (m, Rows) x[m] += Format::k_per_line;
      }
    };
    walk_blocks<Format>(geometry, multiply_block);

    EDGEQ_FOR (s, Streams) {
      const std::size_t column = panel[s] * panel_columns;
      EDGEQ_FOR (m, Rows) {
        if (g.bias != nullptr)
          EDGEQ_FOR (r, registers)
            out[m][s][r] = Simd::add(out[m][s][r], Simd::load_float(g.bias + column + r * Simd::lanes));
        store_columns(g.y + (row + m) * g.y_stride + column, out[m][s], geometry.n - column);
      }
    }
  }

  static void gemm(const GemmArguments& g) noexcept { multiply_panels<PanelFma>(g); }
  static void prepare(const PrepareArguments& p) noexcept { copy_rows(p); }
};
