// SPDX-License-Identifier: Apache-2.0
// Any weights times float activations, in the order of kernel/panel_fma.inl. Included once for each target.
//
// A weight equals decode() to the bit. Without a fused multiply-add, products and sums are rounded apart,
// which brings at most 2 K + 4 roundings (2^-24 of the sum of magnitudes each), inside the documented (K + 4)
// * 2^-23.

/// The value of the 8-bit float in the highest byte of each lane, as kernel/float_weights.inl finds it. 2 y
/// is exact, so the difference has one rounding with and without a fused multiply-add.
template <class Element>
HWY_INLINE Float float_of_high_byte(Int high) {
  const IntTag i;
  const FloatTag d;
  constexpr int fraction = Element::fraction_bits;
  constexpr float smallest_normal = Element{1 << fraction}.to_float();
  const Int magnitude = hn::And(high, hn::Set(i, 0x7F000000));
  const Float y = hn::BitCast(
      d, hn::Add(hn::ShiftRight<fraction + 1>(magnitude), hn::Set(i, (127 - Element::bias) << 23)));
  const Float finite = hn::Min(y, hn::Sub(hn::Add(y, y), hn::Set(d, smallest_normal)));
  const auto is_special =
      hn::Gt(magnitude, hn::Set(i, static_cast<std::int32_t>((Element::first_special << 24) - 1)));
  const Int special =
      hn::IfThenElseZero(is_special, hn::Set(i, Element::has_infinities ? 0x7F800000 : 0x7FC00000));
  const Int sign = hn::And(high, hn::Set(i, static_cast<std::int32_t>(0x80000000u)));
  return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(i, finite), special), sign));
}

template <Stored Element, bool HasMinima>
struct FloatKernel {
  static constexpr bool is_integer = false;
  static constexpr bool is_coded =
      Element != Stored::f32 && Element != Stored::f16 && Element != Stored::bf16;
  static constexpr std::size_t k_per_line = Element == Stored::nibble     ? 8
                                            : Element == Stored::six_bits ? 16
                                            : is_coded                    ? 4
                                            : Element == Stored::f32      ? 1
                                                                          : 2;
  static constexpr std::size_t bytes_per_line =
      Element == Stored::six_bits ? edgeq::codec::SixBits::bytes_per_line : edgeq::line_bytes;
  static constexpr std::size_t x_bytes = sizeof(float);
  template <std::size_t>
  using FloatOf = Float;

  /// The weights at element K of a line.
  template <std::size_t K>
  static HWY_INLINE Float weight(const std::uint8_t* line, const float* scale, const float* offset,
                                 const float* table, float midpoint) {
    const FloatTag d;
    if constexpr (Element == Stored::f32) {
      return hn::LoadU(d, reinterpret_cast<const float*>(line));
    } else {
      const Word word = hn::LoadU(WordTag(), reinterpret_cast<const std::uint32_t*>(line));
      if constexpr (Element == Stored::f16) {
        return float_of_half(K == 0 ? hn::And(word, hn::Set(WordTag(), 0xFFFFu)) : hn::ShiftRight<16>(word));
      } else if constexpr (Element == Stored::bf16) {
        return hn::BitCast(d,
                           K == 0 ? hn::ShiftLeft<16>(word) : hn::And(word, hn::Set(WordTag(), 0xFFFF0000u)));
      } else if constexpr (Element == Stored::e4m3 || Element == Stored::e5m2) {
        using Float8 = std::conditional_t<Element == Stored::e4m3, edgeq::Float8E4M3, edgeq::Float8E5M2>;
        Word high = word;
        if constexpr (K != 3) high = hn::ShiftLeft<24 - 8 * int{K}>(word);
        return hn::Mul(float_of_high_byte<Float8>(hn::BitCast(IntTag(), high)), hn::LoadU(d, scale));
      } else {
        const Int code = hn::BitCast(IntTag(), code_of<K>(line, word));
        if constexpr (Element == Stored::nibble) {
          if (table != nullptr) return hn::Mul(hn::GatherIndex(d, table, code), hn::LoadU(d, scale));
        }
        const Float value = hn::ConvertTo(d, code);
        if constexpr (HasMinima)
          return fused_multiply_add(hn::Sub(value, hn::Set(d, midpoint)), hn::LoadU(d, scale),
                                    hn::LoadU(d, offset));
        else
          return hn::Mul(hn::Sub(value, hn::LoadU(d, offset)), hn::LoadU(d, scale));
      }
    }
  }

  template <int Count>
  static HWY_INLINE Word shift_right(Word word) {
    if constexpr (Count > 0) return hn::ShiftRight<Count>(word);
    if constexpr (Count < 0) return hn::ShiftLeft<-Count>(word);
    return word;
  }
  /// Code K of each lane of a line whose first 64 bytes have the lane `word`.
  template <std::size_t K>
  static HWY_INLINE Word code_of(const std::uint8_t* line, Word word) {
    if constexpr (Element == Stored::byte) {
      return hn::And(shift_right<int{K} * 8>(word), hn::Set(WordTag(), 255u));
    } else {
      constexpr int nibble = static_cast<int>(K % 4 * 8 + K % 8 / 4 * 4);
      const auto load = [&](std::size_t at) {
        return hn::LoadU(WordTag(), reinterpret_cast<const std::uint32_t*>(line + at));
      };
      const Word nibbles = K < 8 ? word : load(edgeq::line_bytes);
      const Word low = hn::And(shift_right<nibble>(nibbles), hn::Set(WordTag(), 15u));
      if constexpr (Element == Stored::nibble) return low;
      constexpr int pair = static_cast<int>(K % 4 * 8 + K / 4 * 2);
      return hn::Or(low,
                    hn::And(shift_right<pair - 4>(load(2 * edgeq::line_bytes)), hn::Set(WordTag(), 0x30u)));
    }
  }

  /// Adds a block's sum to `out`.
  static HWY_INLINE void add_block(float* out, Float sum) {
    const FloatTag d;
    hn::StoreU(hn::Add(hn::LoadU(d, out), sum), d, out);
  }

  template <std::size_t RowCount, class B, std::size_t... I>
  static HWY_INLINE void multiply(B& b, std::size_t column, std::index_sequence<I...> numbers) {
    Lines<RowCount, decltype(numbers)>::run(b, column, FloatOf<I>(hn::Zero(FloatTag()))...);
  }

  template <std::size_t RowCount, class Numbers>
  struct Lines;
  template <std::size_t RowCount, std::size_t... I>
  struct Lines<RowCount, std::index_sequence<I...>> {
    template <std::size_t K, class B>
    static HWY_INLINE void element(const B& b, std::size_t at, std::size_t k, std::size_t column,
                                   FloatOf<I>&... sum) {
      ((sum = hn::MulAdd(weight<K>(b.line[I / RowCount] + at + 4 * column, b.scale[I / RowCount] + column,
                                   b.offset[I / RowCount] + column, b.floats, b.midpoint),
                         hn::Set(FloatTag(), reinterpret_cast<const float*>(b.x[I % RowCount])[k + K]), sum)),
       ...);
    }
    template <class B, std::size_t... K>
    static HWY_INLINE void line(const B& b, std::size_t at, std::size_t k, std::size_t column,
                                std::index_sequence<K...>, FloatOf<I>&... sum) {
      (element<K>(b, at, k, column, sum...), ...);
    }
    template <class B>
    static HWY_INLINE void run(B& b, std::size_t column, FloatOf<I>... sum) {
      const std::size_t end = b.lines * bytes_per_line;
      for (std::size_t at = 0, k = 0; at < end; at += bytes_per_line, k += k_per_line) {
        line(b, at, k, column, std::make_index_sequence<k_per_line>(), sum...);
        if (column == 0)
          ((I % RowCount == 0 ? __builtin_prefetch(b.line[I / RowCount] + at + edgeq::prefetch_bytes)
                              : void()),
           ...);
      }
      (add_block(b.out[I] + column, sum), ...);
    }
  };
};
