// SPDX-License-Identifier: Apache-2.0
// Vectors of at most 16 columns, and the three conversions that Highway does not offer alike on every target:
// a multiply-add with one rounding, f16 to float, and stored scales to float. Included once for each target.

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, edgeq::panel_columns>;
using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using Int16Tag = hn::Repartition<std::int16_t, FloatTag>;
using Word16Tag = hn::Repartition<std::uint16_t, FloatTag>;
using ByteTag = hn::Repartition<std::uint8_t, FloatTag>;
using Float = hn::Vec<FloatTag>;
using Int = hn::Vec<IntTag>;
using Word = hn::Vec<WordTag>;
using Int16 = hn::Vec<Int16Tag>;
using Word16 = hn::Vec<Word16Tag>;

/// a * b + c, rounded to odd in double: toward zero, then the last bit set if that was inexact.
///
/// The product of two floats has 48 bits and is exact. Two-sum gives the error of the sum, exactly. Where the
/// error points toward zero the sum was rounded away from zero, and the neighbour below is the truncated
/// value; patterns of doubles are ordered like their magnitudes, so that is the pattern minus one. A sum of
/// zero is exact, and one that is infinite or NaN has an error that is NaN, which compares as exact. 53 bits
/// rounded to odd, then rounded to any 51 or fewer, are as if rounded once (Boldo and Melquiond 2008): a
/// float has 24, or fewer where it is subnormal.
#if HWY_NATIVE_FMA
#elif HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_EMU128
template <class D>
HWY_INLINE hn::Vec<D> fma_to_odd(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Vec<D> product = hn::Mul(a, b);
  const hn::Vec<D> sum = hn::Add(product, c);
  const hn::Vec<D> added = hn::Sub(sum, product);
  const hn::Vec<D> error = hn::Add(hn::Sub(product, hn::Sub(sum, added)), hn::Sub(c, added));
  const auto inexact = hn::BitCast(bits, hn::VecFromMask(d, hn::Gt(hn::Abs(error), hn::Zero(d))));
  const auto opposite = hn::ShiftRight<63>(hn::BitCast(bits, hn::Xor(sum, error)));
  const auto truncated = hn::Sub(hn::BitCast(bits, sum), hn::And(opposite, inexact));
  return hn::BitCast(d, hn::Or(truncated, hn::And(hn::Set(bits, 1), inexact)));
}
#endif

/// a * b + c with one rounding, on every target. Emulated vectors go lane by lane, as Highway narrows an
/// infinite double to the largest float there; without std::fma, which Clang splits under -ffast-math
/// whatever the pragmas say.
HWY_INLINE Float fused_multiply_add(Float a, Float b, Float c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#elif HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_EMU128
  const FloatTag full;
  const hn::Half<FloatTag> half;
  const hn::Rebind<double, hn::Half<FloatTag>> wide;
  const auto lower =
      fma_to_odd(wide, hn::PromoteTo(wide, hn::LowerHalf(half, a)),
                 hn::PromoteTo(wide, hn::LowerHalf(half, b)), hn::PromoteTo(wide, hn::LowerHalf(half, c)));
  const auto upper =
      fma_to_odd(wide, hn::PromoteTo(wide, hn::UpperHalf(half, a)),
                 hn::PromoteTo(wide, hn::UpperHalf(half, b)), hn::PromoteTo(wide, hn::UpperHalf(half, c)));
  return hn::Combine(full, hn::DemoteTo(half, upper), hn::DemoteTo(half, lower));
#else
  const FloatTag d;
  float factor[edgeq::panel_columns], other[edgeq::panel_columns], sum[edgeq::panel_columns];
  hn::StoreU(a, d, factor);
  hn::StoreU(b, d, other);
  hn::StoreU(c, d, sum);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    sum[i] = edgeq::fused_multiply_add(factor[i], other[i], sum[i]);
  return hn::LoadU(d, sum);
#endif
}

/// f16 in the low half of each lane, the high half zero. Moved up to a float's fraction, its exponent is 112
/// too small: a multiplication by 2^112 corrects it exactly and makes subnormals normal. Infinities and NaN
/// have all exponent bits set in both.
HWY_INLINE Float float_of_half(Word half) {
  const FloatTag d;
  const WordTag w;
  const Word magnitude = hn::And(half, hn::Set(w, 0x7FFFu));
  const Word sign = hn::ShiftLeft<16>(hn::Xor(half, magnitude));
  const Word shifted = hn::ShiftLeft<13>(magnitude);
  const Float finite = hn::Mul(hn::BitCast(d, shifted), hn::Set(d, 0x1p112f));
  const Float other = hn::BitCast(d, hn::Or(shifted, hn::Set(w, 0x7F800000u)));
  const auto is_other = hn::Gt(hn::BitCast(IntTag(), magnitude), hn::Set(IntTag(), 0x7BFF));
  return hn::Or(hn::IfThenElse(hn::RebindMask(d, is_other), other, finite), hn::BitCast(d, sign));
}

HWY_INLINE Word load_halves(const std::uint8_t* from) {
  const hn::Rebind<std::uint16_t, WordTag> narrow;
  return hn::PromoteTo(WordTag(), hn::LoadU(narrow, reinterpret_cast<const std::uint16_t*>(from)));
}

/// Writes 16 stored floats as floats.
HWY_INLINE void convert_columns(Stored stored, const std::uint8_t* from, float* to) {
  const FloatTag d;
  for (std::size_t i = 0; i < edgeq::panel_columns; i += hn::Lanes(d)) {
    if (stored == Stored::f32)
      hn::StoreU(hn::LoadU(d, reinterpret_cast<const float*>(from) + i), d, to + i);
    else if (stored == Stored::f16)
      hn::StoreU(float_of_half(load_halves(from + 2 * i)), d, to + i);
    else
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(load_halves(from + 2 * i))), d, to + i);
  }
}
