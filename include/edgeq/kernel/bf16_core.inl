// SPDX-License-Identifier: Apache-2.0
// The bf16 half of the tile kernels: x rounded to bf16 times the values of codes, into float. Included inside
// an ISA's region, with its Bf16Decoder.

template <class FormatType>
struct Bf16Core {
  using Format = FormatType;
  using Scaling = Bf16Scaling<Format>;
  using Header = typename Scaling::Header;
  using Float = typename Simd::Float;
  static_assert(Simd::lanes == panel_columns);
  static constexpr std::size_t planes = 1;
  static constexpr std::size_t element_bytes = sizeof(std::uint16_t);
  static constexpr std::size_t pairs = Format::k_per_line / 2;
  /// A line of bf16 weights is a row of a B tile as it stands.
  static constexpr bool is_tile_row = !Scaling::is_scaled;

  /// A prepared row, by its number.
  struct Row {
    const GemmArguments* g;
    std::size_t m;
  };

  Bf16Decoder<Format> decoder;
  EDGEQ_INLINE void load() noexcept { decoder.load(); }
  EDGEQ_INLINE void unpack_line(const std::uint8_t* line, std::uint8_t* rows) const noexcept {
    typename Simd::Int pair[pairs];
    decoder.decode(line, pair);
    EDGEQ_FOR (p, pairs) Simd::store_codes(rows + p * line_bytes, pair[p]);
  }

  template <int C, int A, int B>
  static EDGEQ_INLINE void dot() noexcept {
    amx::dot_bf16<C, A, B>();
  }

  static EDGEQ_INLINE Header load_header(const HeaderPlace& place, std::size_t r) noexcept {
    return Scaling::load_header(place, r * Simd::lanes);
  }
  static EDGEQ_INLINE Row row(const GemmArguments& g, std::size_t m) noexcept { return {&g, m}; }

  static EDGEQ_INLINE void add_block(Float& out, const std::uint8_t* sum, const std::uint8_t*,
                                     const Header& header, const HeaderPlace&, std::size_t, const Row& row,
                                     const ChunkBlock& block) noexcept {
    Scaling::add_block(out, Simd::template load_stored<float>(sum), header,
                       Scaling::sum_of_x(*row.g, row.m, block.group, block.k_begin));
  }
  static EDGEQ_INLINE Float finish(Float out, const GemmArguments& g, std::size_t m,
                                   std::size_t column) noexcept {
    return Scaling::finish(out, g, m, column);
  }

  static PreparedLayout layout(const PanelGeometry& geometry, std::size_t overrun) noexcept {
    return PreparedLayout::of_bf16(geometry, overrun);
  }
  static constexpr PrepareFunction prepare = &round_rows<Scaling::is_scaled>;
};
