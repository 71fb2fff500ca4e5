// SPDX-License-Identifier: Apache-2.0
// How codes leave a packed line, included once inside each ISA's region. `line` points to a register's first
// column in the line; the layouts are described in format/codec.hpp.

/// The codes of a line as bytes: those of k = 4 w .. 4 w + 3 of each column in its lane of codes[w].
template <class Codec>
EDGEQ_INLINE void unpack_codes(const std::uint8_t* line,
                               typename Simd::Int (&codes)[Codec::k_per_line / 4]) noexcept {
  if constexpr (Codec::bits == 8) {
    codes[0] = Simd::load_codes(line);
  } else {
    const typename Simd::Int mask = Simd::set1(0x0F0F0F0F);
    EDGEQ_FOR (i, Codec::k_per_line / 8) {
      const typename Simd::Int nibbles = Simd::load_codes(line + i * line_bytes);
      codes[2 * i] = Simd::bit_and(nibbles, mask);
      codes[2 * i + 1] = Simd::high_nibbles(nibbles);
    }
    if constexpr (Codec::bits == 6) {
      const typename Simd::Int upper = Simd::load_codes(line + 2 * line_bytes),
                               upper_mask = Simd::set1(0x30303030);
      codes[0] = Simd::bit_or(codes[0], Simd::bit_and(Simd::template shift_left<4>(upper), upper_mask));
      codes[1] = Simd::bit_or(codes[1], Simd::bit_and(Simd::template shift_left<2>(upper), upper_mask));
      codes[2] = Simd::bit_or(codes[2], Simd::bit_and(upper, upper_mask));
      codes[3] = Simd::bit_or(codes[3], Simd::bit_and(Simd::template shift_right<2>(upper), upper_mask));
    }
  }
}

/// The values of the codes, laid out like them: what dot products multiply.
template <class Codec>
EDGEQ_INLINE void unpack_values(const std::uint8_t* line,
                                typename Simd::Int (&values)[Codec::k_per_line / 4]) noexcept {
  unpack_codes<Codec>(line, values);
  if constexpr (codec::Codebook<Codec>) {
    const typename Simd::Int table = Simd::broadcast_16(Codec::values.data());
    EDGEQ_FOR (w, Codec::k_per_line / 4) values[w] = Simd::lookup_bytes(table, values[w]);
  }
}

/// Code I of each column's lane of a line, as an integer.
template <class Codec, std::size_t I>
EDGEQ_INLINE typename Simd::Int code_of(const std::uint8_t* line) noexcept {
  if constexpr (Codec::bits == 8) {
    return Simd::bit_and(Simd::template shift_right<int{I} * 8>(Simd::load_codes(line)), Simd::set1(255));
  } else {
    constexpr int nibble = static_cast<int>(I % 4 * 8 + I % 8 / 4 * 4);
    const typename Simd::Int low = Simd::bit_and(
        Simd::template shift_right<nibble>(Simd::load_codes(line + I / 8 * line_bytes)), Simd::set1(15));
    if constexpr (Codec::bits == 4) return low;
    if constexpr (Codec::bits == 6) {
      constexpr int pair = static_cast<int>(I % 4 * 8 + I / 4 * 2);
      const typename Simd::Int upper = Simd::load_codes(line + 2 * line_bytes);
      if constexpr (pair >= 4)
        return Simd::bit_or(low,
                            Simd::bit_and(Simd::template shift_right<pair - 4>(upper), Simd::set1(0x30)));
      else
        return Simd::bit_or(low, Simd::bit_and(Simd::template shift_left<4 - pair>(upper), Simd::set1(0x30)));
    }
  }
}

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
