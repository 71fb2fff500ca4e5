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
template <bool IsNibble, int Planes>
struct IntegerKernel {
  static constexpr bool is_integer = true;
  static constexpr std::size_t k_per_line = IsNibble ? 8 : 4;
  static constexpr std::size_t x_bytes = 1;
  template <std::size_t>
  using IntOf = Int;

  static HWY_INLINE Int broadcast_4(const std::byte* x) {
    std::int32_t word;
    std::memcpy(&word, x, sizeof(word));
    return hn::Set(IntTag(), word);
  }

  /// sum += the four codes of each lane times the four bytes of x.
#if HWY_MAJOR > 1 || HWY_MINOR >= 1
  static HWY_INLINE Int dot_bytes(hn::Vec<ByteTag> codes, const std::byte* x, Int sum) {
    const hn::RebindToSigned<ByteTag> bytes;
    // Arm multiplies bytes of one signedness; a nibble is a signed byte too.
    if constexpr (HWY_ARCH_ARM && IsNibble)
      return hn::SumOfMulQuadAccumulate(IntTag(), hn::BitCast(bytes, codes),
                                        hn::BitCast(bytes, broadcast_4(x)), sum);
    else
      return hn::SumOfMulQuadAccumulate(IntTag(), codes, hn::BitCast(bytes, broadcast_4(x)), sum);
  }
#else
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

  /// One line of one panel times one row.
  static HWY_INLINE void dot_line(const std::uint8_t* line, const std::byte* x, std::size_t plane_bytes,
                                  Int& first, Int& second) {
    const hn::Vec<ByteTag> codes = hn::LoadU(ByteTag(), line);
    const Word16 pairs = hn::BitCast(Word16Tag(), codes);
    if constexpr (has_byte_dot) {
      hn::Vec<ByteTag> low = codes;
      if constexpr (IsNibble) {
        const hn::Vec<ByteTag> mask = hn::Set(ByteTag(), std::uint8_t{15});
        const hn::Vec<ByteTag> high = hn::And(hn::BitCast(ByteTag(), hn::ShiftRight<4>(pairs)), mask);
        low = hn::And(codes, mask);
        first = dot_bytes(high, x + 4, first);
        if constexpr (Planes == 2) second = dot_bytes(high, x + plane_bytes + 4, second);
      }
      first = dot_bytes(low, x, first);
      if constexpr (Planes == 2) second = dot_bytes(low, x + plane_bytes, second);
    } else if constexpr (IsNibble) {
      const Word16 mask = hn::Set(Word16Tag(), std::uint16_t{15});
      dot_pairs(hn::And(pairs, mask), hn::And(hn::ShiftRight<8>(pairs), mask), x, plane_bytes, first, second);
      dot_pairs(hn::And(hn::ShiftRight<4>(pairs), mask), hn::ShiftRight<12>(pairs), x + 4, plane_bytes, first,
                second);
    } else {
      dot_pairs(hn::And(pairs, hn::Set(Word16Tag(), std::uint16_t{255})), hn::ShiftRight<8>(pairs), x,
                plane_bytes, first, second);
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
    if (!b.has_minima) {
      const Int zero = hn::LoadU(IntTag(), b.zero[stream] + column);
      sum = hn::Sub(sum, hn::Mul(zero, hn::Set(IntTag(), b.x_sum[row])));
    }
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
      const std::size_t end = b.lines * edgeq::line_bytes, plane_bytes = b.plane_bytes;
      for (std::size_t at = 0, k = 0; at < end; at += edgeq::line_bytes, k += k_per_line) {
        (dot_line(b.line[I / RowCount] + at + 4 * column, b.x[I % RowCount] + k, plane_bytes, first, second),
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
