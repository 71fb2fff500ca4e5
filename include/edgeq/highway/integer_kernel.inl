// SPDX-License-Identifier: Apache-2.0
// Integer codes times 8-bit or 16-bit activations, by the numerics contract of kernel/panel_dot.inl to the
// bit. Included once for each target.

// Targets with an instruction for four products of bytes a lane. Elsewhere 16-bit products in pairs are
// faster, and one pass serves both planes of 16-bit activations.
#if (HWY_MAJOR > 1 || HWY_MINOR >= 1) &&                                                          \
    ((HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL) || (HWY_ARCH_PPC && HWY_TARGET != HWY_EMU128) || \
     (HWY_ARCH_ARM && (HWY_TARGET == HWY_NEON_BF16 ||                                             \
                       (HWY_TARGET & (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)) != 0)))
inline constexpr bool has_byte_dot = true;
#else
inline constexpr bool has_byte_dot = false;
#endif

/// A sum of products takes two accumulators: of the high and the low plane, or of the two halves into which
/// some targets split pairs. Where a kernel needs one, the other stays zero and costs nothing.
template <Stored Element, int Planes>
struct IntegerKernel {
  static constexpr bool is_integer = true;
  static constexpr std::size_t k_per_line = Element == Stored::nibble     ? 8
                                            : Element == Stored::six_bits ? 16
                                                                          : 4;
  static constexpr std::size_t bytes_per_line =
      Element == Stored::six_bits ? edgeq::codec::SixBits::bytes_per_line : edgeq::line_bytes;
  static constexpr std::size_t x_bytes = 1;
  template <std::size_t>
  using IntOf = Int;

  static HWY_INLINE Int broadcast_4(const std::byte* x) {
    std::int32_t word;
    std::memcpy(&word, x, sizeof(word));
    return hn::Set(IntTag(), word);
  }

  /// sum += the four values of each lane times the four bytes of x.
#if HWY_MAJOR > 1 || HWY_MINOR >= 1
  template <bool IsSmall>
  static HWY_INLINE Int dot_bytes(hn::Vec<ByteTag> codes, const std::byte* x, Int sum) {
    const hn::RebindToSigned<ByteTag> bytes;
    // Arm multiplies bytes of one signedness; a small value is a signed byte too.
    if constexpr (HWY_ARCH_ARM && IsSmall)
      return hn::SumOfMulQuadAccumulate(IntTag(), hn::BitCast(bytes, codes),
                                        hn::BitCast(bytes, broadcast_4(x)), sum);
    else
      return hn::SumOfMulQuadAccumulate(IntTag(), codes, hn::BitCast(bytes, broadcast_4(x)), sum);
  }
#else
  template <bool>
  static HWY_INLINE Int dot_bytes(hn::Vec<ByteTag>, const std::byte*, Int sum) {
    return sum;
  }
#endif

  /// The same in pairs of 16 bits: codes 0 and 2 of each lane in `even`, 1 and 3 in `odd`. A pair is at most
  /// 2 * 255 * 32512 < 2^31, so nothing saturates.
  static HWY_INLINE void dot_pairs(Word16 even, Word16 odd, const std::byte* x, std::size_t plane_bytes,
                                   Int& first, Int& second) {
    const Int16Tag d;
    const Int16 low = hn::BitCast(d, broadcast_4(x + (Planes - 1) * plane_bytes));
    Int16 x_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(low)), x_odd = hn::ShiftRight<8>(low);
    if constexpr (Planes == 2) {
      const Int16 high = hn::BitCast(d, broadcast_4(x));
      x_even = hn::Add(x_even, hn::ShiftLeft<8>(high));
      x_odd = hn::Add(x_odd, hn::And(high, hn::Set(d, std::int16_t{-256})));
    }
    first = hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(d, even), x_even, first, second);
    first = hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(d, odd), x_odd, first, second);
  }

  /// Four values of each lane times four k of a row.
  template <bool IsSmall>
  static HWY_INLINE void dot_values(hn::Vec<ByteTag> values, const std::byte* x, std::size_t plane_bytes,
                                    Int& first, Int& second) {
    if constexpr (has_byte_dot) {
      first = dot_bytes<IsSmall>(values, x, first);
      if constexpr (Planes == 2) second = dot_bytes<IsSmall>(values, x + plane_bytes, second);
    } else {
      const Word16 pairs = hn::BitCast(Word16Tag(), values);
      dot_pairs(hn::And(pairs, hn::Set(Word16Tag(), std::uint16_t{255})), hn::ShiftRight<8>(pairs), x,
                plane_bytes, first, second);
    }
  }

  /// A line's nibbles, shifted down; entries of a table, if there is one, may be large.
  static HWY_INLINE void dot_nibbles(Word16 shifted, const std::uint8_t* table, const std::byte* x,
                                     std::size_t plane_bytes, Int& first, Int& second) {
    const ByteTag d;
    const hn::Vec<ByteTag> codes = hn::And(hn::BitCast(d, shifted), hn::Set(d, std::uint8_t{15}));
    if (table == nullptr)
      dot_values<true>(codes, x, plane_bytes, first, second);
    else
      dot_values<false>(hn::TableLookupBytes(hn::LoadDup128(d, table), codes), x, plane_bytes, first, second);
  }

  /// Nibbles with two more bits, which `upper` holds at bits 4 and 5 of each byte.
  static HWY_INLINE void dot_six_bits(Word16 nibbles, Word16 upper, const std::byte* x,
                                      std::size_t plane_bytes, Int& first, Int& second) {
    const ByteTag d;
    const hn::Vec<ByteTag> low = hn::And(hn::BitCast(d, nibbles), hn::Set(d, std::uint8_t{15})),
                           high = hn::And(hn::BitCast(d, upper), hn::Set(d, std::uint8_t{0x30}));
    dot_values<true>(hn::Or(low, high), x, plane_bytes, first, second);
  }

  /// One line of one panel times one row.
  static HWY_INLINE void dot_line(const std::uint8_t* line, const std::uint8_t* table, const std::byte* x,
                                  std::size_t plane_bytes, Int& first, Int& second) {
    const auto load = [](const std::uint8_t* from) {
      return hn::BitCast(Word16Tag(), hn::LoadU(ByteTag(), from));
    };
    const Word16 codes = load(line);
    if constexpr (Element == Stored::byte) {
      dot_values<false>(hn::BitCast(ByteTag(), codes), x, plane_bytes, first, second);
    } else if constexpr (Element == Stored::nibble) {
      dot_nibbles(codes, table, x, plane_bytes, first, second);
      dot_nibbles(hn::ShiftRight<4>(codes), table, x + 4, plane_bytes, first, second);
    } else {
      const Word16 more = load(line + edgeq::line_bytes), upper = load(line + 2 * edgeq::line_bytes);
      dot_six_bits(codes, hn::ShiftLeft<4>(upper), x, plane_bytes, first, second);
      dot_six_bits(hn::ShiftRight<4>(codes), hn::ShiftLeft<2>(upper), x + 4, plane_bytes, first, second);
      dot_six_bits(more, upper, x + 8, plane_bytes, first, second);
      dot_six_bits(hn::ShiftRight<4>(more), hn::ShiftRight<2>(upper), x + 12, plane_bytes, first, second);
    }
  }

  /// Scales the sum of a block and adds it to `out`.
  template <class B>
  static HWY_INLINE void add_block(B& b, std::size_t row, std::size_t stream, std::size_t column, float* out,
                                   Int first, Int second) {
    const FloatTag d;
    Int sum = first;
    if constexpr (!has_byte_dot)
      sum = hn::RearrangeToOddPlusEven(first, second);
    else if constexpr (Planes == 2)
      sum = hn::Add(hn::ShiftLeft<8>(first), second);
    // The zero point, folded into the sum: int32 wraps on the way and is exact at the end.
    const Int zero = hn::LoadU(IntTag(), b.zero[stream] + column);
    sum = hn::Sub(sum, hn::Mul(zero, hn::Set(IntTag(), b.x_sum[row])));
    const Float factor = hn::Set(d, b.per_group ? b.x_scale[row] : 1.0f);  // times 1 changes nothing
    const Float scale = hn::Mul(hn::LoadU(d, b.scale[stream] + column), factor);
    Float total = fused_multiply_add(hn::ConvertTo(d, sum), scale, hn::LoadU(d, out + column));
    if (b.has_minima) {
      const Float minimum = hn::Mul(hn::LoadU(d, b.offset[stream] + column), factor);
      total = fused_multiply_add(hn::Set(d, static_cast<float>(b.x_sum[row])), minimum, total);
    }
    hn::StoreU(total, d, out + column);
  }

  template <std::size_t RowCount, class B, std::size_t... I>
  static HWY_INLINE void multiply(B& b, std::size_t column, std::index_sequence<I...> numbers) {
    Lines<RowCount, decltype(numbers)>::run(b, column, IntOf<I>(hn::Zero(IntTag()))...,
                                            IntOf<I>(hn::Zero(IntTag()))...);
  }

  template <std::size_t RowCount, class Numbers>
  struct Lines;
  template <std::size_t RowCount, std::size_t... I>
  struct Lines<RowCount, std::index_sequence<I...>> {
    template <class B>
    static HWY_INLINE void run(B& b, std::size_t column, IntOf<I>... first, IntOf<I>... second) {
      const std::size_t end = b.lines * bytes_per_line, plane_bytes = b.plane_bytes;
      const std::uint8_t* table = b.values;
      for (std::size_t at = 0, k = 0; at < end; at += bytes_per_line, k += k_per_line) {
        (dot_line(b.line[I / RowCount] + at + 4 * column, table, b.x[I % RowCount] + k, plane_bytes, first,
                  second),
         ...);
        if (column == 0)
          ((I % RowCount == 0 ? __builtin_prefetch(b.line[I / RowCount] + at + edgeq::prefetch_bytes)
                              : void()),
           ...);
      }
      (add_block(b, I % RowCount, I / RowCount, column, b.out[I], first, second), ...);
    }
  };
};
