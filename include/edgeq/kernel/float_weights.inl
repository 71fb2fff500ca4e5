// SPDX-License-Identifier: Apache-2.0
// Weights of any format as floats in registers, included once inside each ISA's region.
//
// A weight is formed as decode() forms it, to the bit, so the error of a kernel is that of its sums alone;
// scaling a group's sum instead would save a multiplication, and overflow where x is large and scales are
// small.

/// The value of the 8-bit float that stands in the highest byte of each lane; the lower bytes do not matter.
///
/// Its fields, moved into those of a float and rebiased, give every normal number, and y = (1 + f) * s for a
/// subnormal f * 2 s, with s half of the smallest normal number. There 2 y - 2 s, exact, is the value, and
/// smaller than y; for normal numbers it is not. Subnormals of the processor, slow on some, never appear.
template <class Element>
EDGEQ_INLINE typename Simd::Float float_of_high_byte(typename Simd::Int high) noexcept {
  using Int = typename Simd::Int;
  using Float = typename Simd::Float;
  constexpr int fraction = Element::fraction_bits;
  constexpr float smallest_normal = Element{1 << fraction}.to_float();
  const Int magnitude = Simd::bit_and(high, Simd::set1(0x7F000000));
  const Float y = Simd::from_bits(Simd::add(Simd::template shift_right<fraction + 1>(magnitude),
                                            Simd::set1((127 - Element::bias) << 23)));
  const Float finite = Simd::min(y, Simd::fma(y, Simd::set1(2.0f), Simd::set1(-smallest_normal)));
  // All ones where the pattern is NaN or infinite. The exponent of all ones keeps the fraction, which tells
  // these apart where there are both.
  const Int is_special = Simd::template shift_right<31>(
      Simd::subtract(Simd::set1(static_cast<std::int32_t>((Element::first_special << 24) - 1)), magnitude));
  const Int special =
      Simd::bit_and(is_special, Simd::set1(Element::has_infinities ? 0x7F800000 : 0x7FC00000));
  const Int sign = Simd::bit_and(high, Simd::set1(INT32_MIN));
  return Simd::from_bits(Simd::bit_or(Simd::bit_or(Simd::bits(finite), special), sign));
}

template <class Format>
struct FloatWeightOf {
  using Float = typename Simd::Float;
  static constexpr bool is_scaled = Format::header_bytes != 0;

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
      header.scale = Simd::template load_stored<Scale>(packed + column * sizeof(Scale));
      if constexpr (Offset::has_minima)
        header.offset =
            Simd::template load_stored<Scale>(packed + Format::minima_offset + column * sizeof(Scale));
      else if constexpr (Offset::has_zeros)
        header.offset = Simd::to_float(Simd::widen_bytes(packed + Format::zeros_offset + column));
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
      const Float code =
          Simd::to_float(Simd::template extract<typename Format::Codec, I>(Simd::load_codes(line)));
      if constexpr (Format::Offset::has_minima)
        return Simd::fma(code, header.scale, header.offset);
      else
        return Simd::multiply(Simd::subtract(code, header.offset), header.scale);
    }
  }
};
