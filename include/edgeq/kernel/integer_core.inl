// SPDX-License-Identifier: Apache-2.0
// The integer half of the tile kernels: signed codes of x times unsigned codes of weights, into int32.
// Included inside an ISA's region.

template <class FormatType, class Activation>
struct IntegerCore {
  using Format = FormatType;
  using Scaling = IntegerScaling<Format, Activation>;
  using Header = typename Scaling::Header;
  using Row = typename Scaling::Row;
  using Float = typename Simd::Float;
  static constexpr std::size_t planes = Activation::planes;
  static constexpr std::size_t element_bytes = 1;
  /// A line of bytes is a row of a B tile as it stands.
  static constexpr bool is_tile_row = Format::Codec::bits == 8;

  EDGEQ_INLINE void load() noexcept {}
  /// Every four k make a row.
  EDGEQ_INLINE void unpack_line(const std::uint8_t* line, std::uint8_t* rows) const noexcept {
    constexpr std::size_t bytes = Simd::lanes * 4;
    EDGEQ_FOR (r, line_bytes / bytes) {
      typename Simd::Int values[Format::k_per_line / 4];
      unpack_values<typename Format::Codec>(line + r * bytes, values);
      EDGEQ_FOR (w, Format::k_per_line / 4) Simd::store_codes(rows + w * line_bytes + r * bytes, values[w]);
    }
  }

  template <int C, int A, int B>
  static EDGEQ_INLINE void dot() noexcept {
    amx::dot_signed_unsigned<C, A, B>();
  }

  static EDGEQ_INLINE Header load_header(const HeaderPlace& place, std::size_t r) noexcept {
    return Scaling::load_header(place, r * Simd::lanes);
  }
  static EDGEQ_INLINE Row row(const GemmArguments& g, std::size_t m) noexcept { return Scaling::row(g, m); }

  static EDGEQ_INLINE void add_block(Float& out, const std::uint8_t* high, const std::uint8_t* low,
                                     const Header& header, const HeaderPlace& place, std::size_t column,
                                     const Row& row, const ChunkBlock& block) noexcept {
    const typename Simd::Int sum =
        Simd::add(Simd::load_codes(low), Scaling::start(place, column, row.sum(block.index)));
    Scaling::add_block(out, Simd::load_codes(high), sum, header, row, block.group, block.index);
  }
  static EDGEQ_INLINE Float finish(Float out, const GemmArguments& g, std::size_t m,
                                   std::size_t column) noexcept {
    return Scaling::finish(out, g, Scaling::row(g, m), column);
  }

  static PreparedLayout layout(const PanelGeometry& geometry, std::size_t overrun) noexcept {
    return PreparedLayout::of_codes<Activation>(geometry, overrun);
  }
  static constexpr PrepareFunction prepare = &quantize_rows<Activation>;
};
