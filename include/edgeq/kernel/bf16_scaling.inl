// SPDX-License-Identifier: Apache-2.0
// What every kernel of bf16 products does around them: how a group's sum is scaled, how y ends, and how x is
// prepared. Included once inside each ISA's region.
//
// Weights meet x as the values of their codes, which bf16 holds exactly, less the codec's midpoint: no weight
// is rounded. The sum of a group is then scaled in float; a zero or a minimum enters through the group's sum
// of x.

template <class FormatType>
struct Bf16Scaling {
  using Format = FormatType;
  using Float = typename Simd::Float;
  static constexpr bool is_scaled = Format::header_bytes != 0;

  /// Scales, and minima or (midpoint - zeros), of a register of columns.
  struct Header {
    Float scale, offset;
  };
  static EDGEQ_INLINE Header load_header(const HeaderPlace& place, std::size_t column) noexcept {
    Header header;  // an implicit constructor would not belong to the region: no initializers
    header.scale = header.offset = Simd::set1(1.0f);
    if constexpr (is_scaled) {
      header.scale = GroupHeader<Format>::scale(place, column);
      if constexpr (Format::Offset::has_minima)
        header.offset = GroupHeader<Format>::minimum(place, column);
      else if constexpr (Format::Offset::has_zeros)
        header.offset = Simd::to_float(
            Simd::subtract(Simd::set1(Format::Codec::midpoint), GroupHeader<Format>::zero(place, column)));
    }
    return header;
  }

  /// The sum of x that belongs to a block: that of its group, in the group's first block.
  static EDGEQ_INLINE float sum_of_x(const GemmArguments& g, std::size_t m, std::size_t group,
                                     std::size_t k_begin) noexcept {
    if (k_begin != 0) return 0.0f;
    return reinterpret_cast<const float*>(g.prepared + m * g.layout.row_bytes + g.layout.sums_offset)[group];
  }

  static EDGEQ_INLINE void add_block(Float& out, Float sum, const Header& header, float sum_of_x) noexcept {
    if constexpr (!is_scaled) {
      out = Simd::add(out, sum);
    } else if constexpr (Format::Offset::has_minima) {
      out = Simd::fma(sum, header.scale, out);
      out = Simd::fma(Simd::set1(sum_of_x), header.offset, out);
    } else if constexpr (Format::Offset::has_zeros) {
      out = Simd::fma(Simd::fma(Simd::set1(sum_of_x), header.offset, sum), header.scale, out);
    } else {
      out = Simd::fma(sum, header.scale, out);
    }
  }

  static EDGEQ_INLINE Float finish(Float out, const GemmArguments& g, std::size_t,
                                   std::size_t column) noexcept {
    return with_bias(out, g, column);
  }
};

/// The form "bf16": x rounded, in its own order or with the middle two of each four k exchanged (0 2 1 3),
/// the pairs in which unpacked codes come.
template <bool Interleaved>
void round_rows(const PrepareArguments& p) noexcept {
  const PanelGeometry& s = *p.geometry;
  for (std::size_t m = p.row_begin; m < p.row_end; ++m) {
    std::byte* row = p.prepared + m * p.layout.row_bytes;
    auto* sums = reinterpret_cast<float*>(row + p.layout.sums_offset);
    for (std::size_t g = 0; g < s.groups; ++g) {
      const std::size_t length = s.group_length(g), padded = round_up(length, s.x_step);
      const XElements x = row_of_x(p, m).from(g * s.group);
      auto* to = reinterpret_cast<std::uint16_t*>(row) + g * s.x_group;
      typename Simd::Float sum = Simd::set1(0.0f);
      for (std::size_t k = 0; k < padded; k += Simd::lanes) {
        const typename Simd::Int bits = Simd::bf16_bits(load_x(x, k, length));
        sum = Simd::add(sum, Simd::from_bits(bits));
        std::uint16_t words[Simd::lanes];
        Simd::template store_bf16<Interleaved>(words, bits);
        const std::size_t count = padded - k < Simd::lanes ? padded - k : Simd::lanes;
        __builtin_memcpy(to + k, words, count * sizeof(std::uint16_t));
      }
      sums[g] = Simd::reduce_add(sum);
    }
    const std::size_t written = s.x_columns * sizeof(std::uint16_t);
    __builtin_memset(row + written, 0, p.layout.plane_bytes - written);
  }
}
