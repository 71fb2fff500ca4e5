// SPDX-License-Identifier: Apache-2.0
// Quantization of activations: the library's own skeleton over Highway's vectors. Included once for each target.

/// The atom of prepare_rows.inl. Its number of lanes is a constant, which scalable vectors have at 128 bits only.
struct Simd {
#if HWY_HAVE_SCALABLE
  using D = hn::FixedTag<float, 4>;
#else
  using D = FloatTag;
#endif
  using I = hn::RebindToSigned<D>;
  using Float = hn::Vec<D>;
  using Int = hn::Vec<I>;
  static constexpr std::size_t lanes = hn::MaxLanes(D());

  static HWY_INLINE Int set1(std::int32_t v) { return hn::Set(I(), v); }
  static HWY_INLINE Float set1(float v) { return hn::Set(D(), v); }
  static HWY_INLINE Float load_float(const float* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE Int magnitude_bits(const float* p) {
    return hn::And(hn::BitCast(I(), load_float(p)), set1(0x7FFFFFFF));
  }
  static HWY_INLINE Int add(Int a, Int b) { return hn::Add(a, b); }
  static HWY_INLINE Int subtract(Int a, Int b) { return hn::Sub(a, b); }
  static HWY_INLINE Int max(Int a, Int b) { return hn::Max(a, b); }
  static HWY_INLINE Int shift_left_8(Int a) { return hn::ShiftLeft<8>(a); }
  static HWY_INLINE Int shift_right_8(Int a) { return hn::ShiftRight<8>(a); }
  static HWY_INLINE std::int32_t reduce_add(Int a) { return hn::GetLane(hn::SumOfLanes(I(), a)); }
  static HWY_INLINE std::int32_t reduce_max(Int a) { return hn::GetLane(hn::MaxOfLanes(I(), a)); }
  static HWY_INLINE Float multiply(Float a, Float b) { return hn::Mul(a, b); }
  /// To nearest even for |a| < 2^22: at 1.5 * 2^23 the unit in the last place is 1, so the sum's pattern counts.
  static HWY_INLINE Int round(Float a) {
    const Float magic = set1(0x1.8p23f);
    return hn::Sub(hn::BitCast(I(), hn::Add(a, magic)), hn::BitCast(I(), magic));
  }
  static HWY_INLINE void store_bytes(std::int8_t* p, Int a) {
    const hn::Rebind<std::int8_t, I> narrow;
    hn::StoreU(hn::DemoteTo(narrow, a), narrow, p);
  }
};

using edgeq::PanelGeometry;
using edgeq::PrepareArguments;
#include "edgeq/kernel/prepare_rows.inl"

void quantize(const Quantization& q) {
  PanelGeometry geometry;
  geometry.k = q.groups.k;
  geometry.group = q.groups.group;
  geometry.groups = q.groups.groups;
  geometry.accumulation_block = q.groups.accumulation_block;
  geometry.x_group = q.groups.x_group;
  const PrepareArguments arguments{
      &geometry,
      {q.rows.plane_bytes, q.rows.sums_offset, q.rows.scales_offset, q.rows.row_bytes},
      q.x,
      q.x_stride,
      q.prepared,
      q.row_begin,
      q.row_end};
  if (q.rows.planes == 1)
    q.rows.per_group ? quantize_rows<edgeq::DynamicInt8PerGroup>(arguments)
                     : quantize_rows<edgeq::DynamicInt8>(arguments);
  else
    q.rows.per_group ? quantize_rows<edgeq::DynamicInt16PerGroup>(arguments)
                     : quantize_rows<edgeq::DynamicInt16>(arguments);
}
