// SPDX-License-Identifier: Apache-2.0
// Weights of any format as floats in registers, included once inside each ISA's region.
//
// A weight is formed as decode() forms it, to the bit, so the error of a kernel is that of its sums alone;
// scaling a group's sum instead would save a multiplication, and overflow where x is large and scales are
// small.

template <class Format>
struct FloatWeightOf {
  using Float = typename Simd::Float;
  static constexpr bool is_scaled = Format::header_bytes != 0;

  /// What turns one column's code into a weight; nothing, for float formats.
  struct Header {
    Float scale;
    Float offset;  // the zero as a float, or the minimum
  };
  static EDGEQ_INLINE Header load_header(const HeaderPlace& place, std::size_t column) noexcept {
    Header header;  // an implicit constructor would not belong to the region: no initializers
    header.scale = header.offset = Simd::set1(0.0f);
    if constexpr (is_scaled) {
      header.scale = GroupHeader<Format>::scale(place, column);
      if constexpr (Format::Offset::has_minima)
        header.offset = GroupHeader<Format>::minimum(place, column);
      else if constexpr (Format::Offset::has_zeros)
        header.offset = Simd::to_float(GroupHeader<Format>::zero(place, column));
      else if constexpr (!codec::FloatCodec<typename Format::Codec>)
        header.offset = Simd::set1(static_cast<float>(Format::Codec::midpoint));
    }
    return header;
  }

  /// The weights of the columns at element I of a line.
  template <std::size_t I>
  static EDGEQ_INLINE Float value(const std::uint8_t* line, const Header& header) noexcept {
    if constexpr (!is_scaled) {
      return Simd::template load_weight<typename Format::Element, I>(line);
    } else if constexpr (codec::FloatCodec<typename Format::Codec>) {
      return Simd::multiply(float_of_high_byte<typename Format::Element>(
                                Simd::template shift_left<24 - 8 * int{I}>(Simd::load_codes(line))),
                            header.scale);
    } else {
      using Codec = typename Format::Codec;
      using Offset = typename Format::Offset;
      if constexpr (codec::Codebook<Codec>) {
        return Simd::multiply(Simd::lookup(Codec::floats.data(), code_of<Codec, I>(line)), header.scale);
      } else {
        const Float code = Simd::to_float(code_of<Codec, I>(line));
        if constexpr (!Offset::has_minima)
          return Simd::multiply(Simd::subtract(code, header.offset), header.scale);
        else if constexpr (Offset::from_midpoint)
          return Simd::fma(Simd::subtract(code, Simd::set1(static_cast<float>(Codec::midpoint))),
                           header.scale, header.offset);
        else
          return Simd::fma(code, header.scale, header.offset);
      }
    }
  }
};
