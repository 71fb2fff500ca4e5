// SPDX-License-Identifier: Apache-2.0
// Skeleton of every integer kernel: codes times 8-bit or 16-bit activations, included once inside each ISA's
// region.
//
// The numerics contract, to the bit: an accumulation block's sum of (code - zero) * x is exact in int32;
// blocks in ascending k: out = fma(float(sum), scale, out), then with a minimum out = fma(float(sum of x),
// minimum, out); at last y = fma(out, activation scale, bias), or out * activation scale. Per-group
// activation scales are multiplied onto scale and minimum first, and y = out + bias.

template <class Format, class Activation>
struct PanelDot {
  using Codec = typename Format::Codec;
  using Offset = typename Format::Offset;
  using Scale = typename Format::Scale;
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;
  static constexpr std::size_t registers = panel_columns / Simd::lanes;
  static constexpr std::size_t planes = Activation::planes;
  static constexpr std::size_t accumulators_per_row = registers * planes;
  /// Each row of each plane keeps two broadcasts of x in registers.
  static constexpr std::size_t tile_rows = Simd::tile_rows < planes ? 1 : Simd::tile_rows / planes;

  /// The value an accumulator starts at, so that the zero point costs nothing in the loop.
  static EDGEQ_INLINE Int start(const std::uint8_t* header, std::size_t column, std::int32_t sum) noexcept {
    if constexpr (Offset::has_zeros)
      return Simd::multiply(Simd::widen_bytes(header + Format::zeros_offset + column), Simd::set1(-sum));
    else if constexpr (Offset::has_minima)
      return Simd::set1(0);
    else
      return Simd::set1(-Codec::midpoint * sum);
  }

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
        const Int codes = Simd::load_codes(line[s] + r * Simd::lanes * 4);
        EDGEQ_FOR (m, Rows)
          EDGEQ_FOR (p, planes) Simd::dot(Codec{}, acc[m][s][r][p], codes, operand[m][p]);
      }
    }
  }

  template <std::size_t Rows, std::size_t Streams>
  static EDGEQ_INLINE void run(const GemmArguments& g, const std::size_t (&panel)[Streams],
                               std::size_t row) noexcept {
    const PanelGeometry& geometry = *g.geometry;
    const std::uint8_t* first[Streams];
    EDGEQ_FOR (s, Streams) first[s] = g.panels + panel[s] * geometry.panel_bytes;
    const std::byte* rows[Rows];
    EDGEQ_FOR (m, Rows) rows[m] = g.prepared + (row + m) * g.layout.row_bytes;
    const auto sum_of = [&](std::size_t m, std::size_t block) EDGEQ_INLINE_LAMBDA {
      return reinterpret_cast<const std::int32_t*>(rows[m] + g.layout.sums_offset)[block];
    };
    const auto scale_of = [&](std::size_t m, std::size_t index) EDGEQ_INLINE_LAMBDA {
      return reinterpret_cast<const float*>(rows[m] + g.layout.scales_offset)[index];
    };

    Float out[Rows][Streams][registers];
    EDGEQ_FOR (m, Rows)
      EDGEQ_FOR (s, Streams)
        EDGEQ_FOR (r, registers) out[m][s][r] = Simd::set1(0.0f);

    std::size_t block = 0;
    const auto multiply_block = [&](std::size_t group, std::size_t k_begin,
                                    std::size_t lines) EDGEQ_INLINE_LAMBDA {
      const std::uint8_t* header[Streams];
      EDGEQ_FOR (s, Streams) header[s] = first[s] + header_offset<Format>(geometry, group);
      Int acc[Rows][Streams][registers][planes];
      EDGEQ_FOR (m, Rows)
        EDGEQ_FOR (s, Streams)
          EDGEQ_FOR (r, registers) {
            if constexpr (planes == 2) acc[m][s][r][0] = Simd::set1(0);
            acc[m][s][r][planes - 1] = start(header[s], r * Simd::lanes, sum_of(m, block));
          }
      const std::uint8_t* line[Streams];
      EDGEQ_FOR (s, Streams)
        line[s] = first[s] + lines_offset<Format>(geometry, group) + k_begin / Codec::k_per_line * line_bytes;
      const std::int8_t* x[Rows];
      EDGEQ_FOR (m, Rows)
        x[m] = reinterpret_cast<const std::int8_t*>(rows[m]) + group * geometry.x_group + k_begin;
      for_each_line<Format>(lines, [&]() EDGEQ_INLINE_LAMBDA {
        accumulate<Rows, Streams>(acc, line, x, g.layout.plane_bytes);
        EDGEQ_FOR (s, Streams) line[s] += line_bytes;
        EDGEQ_FOR (m, Rows) x[m] += Codec::k_per_line;
      });
      EDGEQ_FOR (s, Streams)
        EDGEQ_FOR (r, registers) {
          const Float scale = Simd::template load_scale<Scale>(header[s] + r * Simd::lanes * sizeof(Scale));
          EDGEQ_FOR (m, Rows) {
            Int sum = acc[m][s][r][planes - 1];
            if constexpr (planes == 2) sum = Simd::add(Simd::shift_left_8(acc[m][s][r][0]), sum);
            Float factor = scale;
            if constexpr (Activation::per_group)
              factor = Simd::multiply(scale, Simd::set1(scale_of(m, group)));
            out[m][s][r] = Simd::fma(Simd::to_float(sum), factor, out[m][s][r]);
            if constexpr (Offset::has_minima) {
              Float minimum = Simd::template load_scale<Scale>(header[s] + Format::minima_offset +
                                                               r * Simd::lanes * sizeof(Scale));
              if constexpr (Activation::per_group)
                minimum = Simd::multiply(minimum, Simd::set1(scale_of(m, group)));
              out[m][s][r] =
                  Simd::fma(Simd::set1(static_cast<float>(sum_of(m, block))), minimum, out[m][s][r]);
            }
          }
        }
      ++block;
    };
    walk_blocks<Format>(geometry, multiply_block);

    EDGEQ_FOR (s, Streams) {
      const std::size_t column = panel[s] * panel_columns;
      EDGEQ_FOR (m, Rows) {
        Float y[registers];
        EDGEQ_FOR (r, registers) {
          y[r] = out[m][s][r];
          if constexpr (Activation::per_group) {
            if (g.bias != nullptr)
              y[r] = Simd::add(y[r], Simd::load_float(g.bias + column + r * Simd::lanes));
          } else {
            const Float factor = Simd::set1(scale_of(m, 0));
            y[r] = g.bias == nullptr
                       ? Simd::multiply(y[r], factor)
                       : Simd::fma(y[r], factor, Simd::load_float(g.bias + column + r * Simd::lanes));
          }
        }
        store_columns(g.y + (row + m) * g.y_stride + column, y, geometry.n - column);
      }
    }
  }

  static void gemm(const GemmArguments& g) noexcept { multiply_panels<PanelDot>(g); }
  static void prepare(const PrepareArguments& p) noexcept { quantize_rows<Activation>(p); }
};
