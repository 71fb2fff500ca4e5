// SPDX-License-Identifier: Apache-2.0
// What a packed group's header says of a register of columns, included once inside each ISA's region.

/// Scales of a stored type, from any address.
template <class Scale>
EDGEQ_INLINE typename Simd::Float load_scales(const std::uint8_t* packed) noexcept {
  if constexpr (StoredFloat<Scale>) {
    return Simd::template load_stored<Scale>(packed);
  } else if constexpr (std::is_same_v<Scale, Float8E4M3>) {
    return float_of_high_byte<Scale>(Simd::template shift_left<24>(Simd::widen_bytes(packed)));
  } else {
    // The exponent field of a float, but for 0 and 255, whose values have the upper fraction bit set too.
    const typename Simd::Int exponent = Simd::widen_bytes(packed);
    const typename Simd::Int is_special = Simd::template shift_right<31>(
        Simd::bit_or(Simd::subtract(exponent, Simd::set1(1)), Simd::subtract(Simd::set1(254), exponent)));
    return Simd::from_bits(Simd::bit_or(Simd::template shift_left<23>(exponent),
                                        Simd::bit_and(is_special, Simd::set1(0x00400000))));
  }
}

/// Scales, minima and zeros of the columns from `column` on. This one is for headers with a part for each
/// group; formats whose headers are shared by several groups specialise it.
template <class Format>
struct GroupHeader {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  using Scale = typename Format::Scale;

  static EDGEQ_INLINE const std::uint8_t* at(const HeaderPlace& place) noexcept {
    return place.headers + place.index * Format::header_bytes;
  }
  static EDGEQ_INLINE Float scale(const HeaderPlace& place, std::size_t column) noexcept {
    const Float stored = load_scales<Scale>(at(place) + column * sizeof(Scale));
    if constexpr (Format::Codec::unit == 1.0f)
      return stored;
    else
      return Simd::multiply(stored, Simd::set1(Format::Codec::unit));
  }
  static EDGEQ_INLINE Float minimum(const HeaderPlace& place, std::size_t column) noexcept {
    return load_scales<Scale>(at(place) + Format::minima_offset + column * sizeof(Scale));
  }
  static EDGEQ_INLINE Int zero(const HeaderPlace& place, std::size_t column) noexcept {
    return Simd::widen_bytes(at(place) + Format::zeros_offset + column);
  }
};

template <class Codec, class Offset>
struct GroupHeader<SuperBlock<Codec, Offset, SixBitHeaders>> {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  using Headers = SixBitHeaders;

  static EDGEQ_INLINE Int lower(const HeaderPlace& place, std::size_t column) noexcept {
    return Simd::widen_bytes(place.headers + Headers::lower + place.index * panel_columns + column);
  }
  /// Two bits of the scale, and above them two of the minimum.
  static EDGEQ_INLINE Int upper(const HeaderPlace& place, std::size_t column) noexcept {
    return Simd::shift_right_by(
        Simd::widen_bytes(place.headers + Headers::upper + place.index / 2 * panel_columns + column),
        static_cast<int>(place.index % 2 * 4));
  }
  static EDGEQ_INLINE Float scale(const HeaderPlace& place, std::size_t column) noexcept {
    const Int scale =
        Simd::bit_or(Simd::bit_and(lower(place, column), Simd::set1(15)),
                     Simd::bit_and(Simd::template shift_left<4>(upper(place, column)), Simd::set1(0x30)));
    return Simd::multiply(load_scales<Float16>(place.headers + column * sizeof(Float16)),
                          Simd::to_float(scale));
  }
  static EDGEQ_INLINE Float minimum(const HeaderPlace& place, std::size_t column) noexcept {
    const Int minimum =
        Simd::bit_or(Simd::template shift_right<4>(lower(place, column)),
                     Simd::bit_and(Simd::template shift_left<2>(upper(place, column)), Simd::set1(0x30)));
    const Float product =
        Simd::multiply(load_scales<Float16>(place.headers + Headers::minima + column * sizeof(Float16)),
                       Simd::to_float(minimum));
    return Simd::multiply(product, Simd::set1(-1.0f));  // exact, zeros included;
  }
};

template <class Codec, class Offset>
struct GroupHeader<SuperBlock<Codec, Offset, ByteHeaders>> {
  using Float = typename Simd::Float;
  using Int = typename Simd::Int;
  using Headers = ByteHeaders;

  static EDGEQ_INLINE Float scale(const HeaderPlace& place, std::size_t column) noexcept {
    const Int byte =
        Simd::widen_bytes(place.headers + Headers::scales + place.index * panel_columns + column);
    const Int scale = Simd::template shift_right<24>(Simd::template shift_left<24>(byte));  // its sign
    return Simd::multiply(
        load_scales<Float16>(place.headers + Headers::float_offset(place.index) + column * sizeof(Float16)),
        Simd::to_float(scale));
  }
};
