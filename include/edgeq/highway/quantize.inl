// SPDX-License-Identifier: Apache-2.0
// Quantization of activations by the rule of edgeq::DynamicInteger, to the bit as kernel/prepare_rows.inl
// does it, for vectors of any length. Included once for each target.

/// How one row (or group) becomes codes: code = round(x * before * inverse).
struct Step {
  float before = 1.0f, inverse = 0.0f, scale = 0.0f;
  bool finite = true;
};

/// From the largest |x|, as bits, which order like magnitudes with infinities and NaN above all.
inline Step step_of(std::int32_t magnitude_bits, int planes) {
  const float limit = planes == 2 ? static_cast<float>(edgeq::DynamicInt16::limit)
                                  : static_cast<float>(edgeq::DynamicInt8::limit);
  if (magnitude_bits >= 0x7F800000) return {1.0f, 0.0f, __builtin_bit_cast(float, 0x7FC00000), false};
  if (magnitude_bits == 0) return {};
  const float largest = __builtin_bit_cast(float, magnitude_bits);
  const float before =
      magnitude_bits >= 0x0D800000 ? 1.0f : 0x1p100f;  // 2^-100: limit / largest could overflow
  return {before, limit / (largest * before), largest / limit, true};
}

/// `count` floats and zeros behind them, if they do not fill a vector.
HWY_INLINE Float load_first(const float* x, std::size_t count) {
  const FloatTag d;
  if (count >= hn::Lanes(d)) return hn::LoadU(d, x);
  float partial[edgeq::panel_columns] = {};
  std::memcpy(partial, x, count * sizeof(float));
  return hn::LoadU(d, partial);
}

HWY_INLINE std::int32_t largest_magnitude(const float* x, std::size_t length) {
  const IntTag i;
  Int largest = hn::Zero(i);
  for (std::size_t k = 0; k < length; k += hn::Lanes(i))
    largest =
        hn::Max(largest, hn::And(hn::BitCast(i, load_first(x + k, length - k)), hn::Set(i, 0x7FFFFFFF)));
  return hn::GetLane(hn::MaxOfLanes(i, largest));
}

/// The first `count` lanes as bytes; they fit.
HWY_INLINE void store_first(Int codes, std::int8_t* to, std::size_t count) {
  const hn::Rebind<std::int8_t, IntTag> narrow;
  const auto bytes = hn::DemoteTo(narrow, codes);
  if (count >= hn::Lanes(narrow)) return hn::StoreU(bytes, narrow, to);
  std::int8_t partial[edgeq::panel_columns];
  hn::StoreU(bytes, narrow, partial);
  std::memcpy(to, partial, count);
}

/// To the nearest integer, ties to even, for |a| < 2^22.
HWY_INLINE Int round_to_even(Float a) {
#if HWY_NATIVE_FMA
  // Not the sum below: `a` is a product, and Clang fuses both under -ffast-math whatever the pragmas say.
  return hn::NearestInt(a);
#else
  // At 1.5 * 2^23 the unit in the last place is 1, so the sum's pattern counts.
  const Float magic = hn::Set(FloatTag(), 0x1.8p23f);
  return hn::Sub(hn::BitCast(IntTag(), hn::Add(a, magic)), hn::BitCast(IntTag(), magic));
#endif
}

/// Quantizes one accumulation block; returns the sum of its codes. With 16 bits, code = 256 * high + low.
HWY_INLINE std::int32_t quantize_block(const float* x, std::size_t length, const Step& step, int planes,
                                       std::int8_t* high, std::int8_t* low) {
  const FloatTag d;
  const IntTag i;
  Int sum = hn::Zero(i);
  for (std::size_t k = 0; k < length; k += hn::Lanes(d)) {
    const Float scaled =
        hn::Mul(hn::Mul(load_first(x + k, length - k), hn::Set(d, step.before)), hn::Set(d, step.inverse));
    const Int code = round_to_even(scaled);
    sum = hn::Add(sum, code);
    Int lower = code;
    if (planes == 2) {
      const Int upper = hn::ShiftRight<8>(hn::Add(code, hn::Set(i, 128)));
      store_first(upper, high + k, length - k);
      lower = hn::Sub(code, hn::ShiftLeft<8>(upper));
    }
    store_first(lower, low + k, length - k);
  }
  return hn::GetLane(hn::SumOfLanes(i, sum));
}

void quantize(const Quantization& q) {
  const Groups& groups = q.groups;
  for (std::size_t m = q.row_begin; m < q.row_end; ++m) {
    const float* x = q.x + m * q.x_stride;
    std::byte* row = q.prepared + m * q.rows.row_bytes;
    auto* high = reinterpret_cast<std::int8_t*>(row);
    std::int8_t* low = high + (q.rows.planes == 2 ? q.rows.plane_bytes : 0);
    auto* sums = reinterpret_cast<std::int32_t*>(row + q.rows.sums_offset);
    auto* scales = reinterpret_cast<float*>(row + q.rows.scales_offset);
    std::memset(row, 0, q.rows.sums_offset);  // the padding, and all codes of what is not finite

    Step step;
    if (!q.rows.per_group) {
      step = step_of(largest_magnitude(x, groups.k), q.rows.planes);
      scales[0] = step.scale;
    }
    for (std::size_t g = 0; g < groups.groups; ++g) {
      const std::size_t from = g * groups.group, to = g * groups.x_group, rest = groups.k - from;
      const std::size_t length = rest < groups.group ? rest : groups.group;
      if (q.rows.per_group) {
        step = step_of(largest_magnitude(x + from, length), q.rows.planes);
        scales[g] = step.scale;
      }
      for (std::size_t k = 0; k < length; k += groups.accumulation_block) {
        const std::size_t left = length - k;
        const std::size_t count = left < groups.accumulation_block ? left : groups.accumulation_block;
        *sums++ = step.finite
                      ? quantize_block(x + from + k, count, step, q.rows.planes, high + to + k, low + to + k)
                      : 0;
      }
    }
  }
}
