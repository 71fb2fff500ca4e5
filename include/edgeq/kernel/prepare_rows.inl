// SPDX-License-Identifier: Apache-2.0
// Skeleton of activation preparation, included once inside each ISA's region, over that ISA's `Simd`.
//
// It writes rows in the form of PreparedLayout: codes (or floats) padded per group with zeros, the sums of
// codes of every accumulation block, and the scales. See the policies of activation.hpp for the rounding
// rules, which are the same to the bit on every ISA.

/// How one row (or group) becomes codes: code = round(x * before * inverse) + zero, or round(x / scale) +
/// zero.
struct QuantizationStep {
  float before = 1.0f;
  float inverse = 0.0f;
  float scale = 0.0f;
  std::int32_t zero = 0;
  bool finite = true;
};

/// The largest x and the largest -x of a row, and not below 0, as bits: neither NaN nor -ffast-math can
/// disturb the comparison.
struct Extremes {
  std::int32_t high = 0, low = 0;
  std::int32_t magnitude() const noexcept { return high > low ? high : low; }
  bool finite() const noexcept { return magnitude() < 0x7F800000; }
};

/// Elements of x whose type is a value: a branch for each vector, foreseen, costs less than a copy of the
/// whole skeleton for each type.
struct XElements {
  const std::byte* data;
  FloatType type;

  EDGEQ_INLINE XElements from(std::size_t k) const noexcept { return {data + k * bytes_of(type), type}; }
  EDGEQ_INLINE typename Simd::Float load(const std::byte* p) const noexcept {
    if (type == FloatType::f32) return Simd::template load_stored<float>(p);
    if (type == FloatType::bf16) return Simd::template load_stored<BFloat16>(p);
    return Simd::template load_stored<Float16>(p);
  }
};
EDGEQ_INLINE XElements row_of_x(const PrepareArguments& p, std::size_t m) noexcept {
  return {static_cast<const std::byte*>(p.x) + m * p.x_stride * bytes_of(p.x_type), p.x_type};
}

/// One vector of x from element k on, and zeros behind element `length`.
EDGEQ_INLINE typename Simd::Float load_x(const XElements& x, std::size_t k, std::size_t length) noexcept {
  const std::byte* first = x.data + k * bytes_of(x.type);
  if (k + Simd::lanes <= length) return x.load(first);
  std::byte tail[Simd::lanes * sizeof(float)] = {};
  if (k < length) __builtin_memcpy(tail, first, (length - k) * bytes_of(x.type));
  return x.load(tail);
}

EDGEQ_INLINE Extremes extremes_of(const XElements& x, std::size_t length) noexcept {
  typename Simd::Int high = Simd::set1(0), low = Simd::set1(0);
  for (std::size_t k = 0; k < length; k += Simd::lanes) {
    const typename Simd::Int bits = Simd::bits(load_x(x, k, length));
    high = Simd::max(high, bits);  // a negative x is a negative integer
    low = Simd::max(low, Simd::add(bits, Simd::set1(INT32_MIN)));
  }
  return {Simd::reduce_max(high), Simd::reduce_max(low)};
}

EDGEQ_INLINE std::int32_t round_to_even(float value) noexcept {
  return Simd::reduce_max(Simd::round(Simd::set1(value)));
}

/// No code exceeds the limit: |x| * inverse is at most limit * (1 + 2^-23), which rounds to it.
template <class Activation>
EDGEQ_INLINE QuantizationStep quantization_step(const Extremes& extremes,
                                                const ActivationRange& range) noexcept {
  constexpr float small = 0x1p-100f;  // limit / largest would overflow below 2^-113
  QuantizationStep step;
  if (!extremes.finite()) {
    step.scale = __builtin_bit_cast(float, 0x7FC00000);
    step.finite = false;
  } else if constexpr (Activation::is_static) {
    step.scale = range.scale;
    step.zero = range.zero;
  } else if (extremes.magnitude() != 0) {
    if constexpr (Activation::has_zero) {
      const float high = __builtin_bit_cast(float, extremes.high),
                  low = __builtin_bit_cast(float, extremes.low);
      const bool is_huge = high * 0.5f + low * 0.5f >= 0x1p126f;
      step.before = is_huge ? 0.5f : high + low < small ? 0x1p100f : 1.0f;
      const float width = high * step.before + low * step.before;
      step.inverse = 255.0f / width;
      step.scale = is_huge ? width / 255.0f * 2.0f : (high + low) / 255.0f;
      step.zero = round_to_even(low * step.before * step.inverse) - 128;
    } else {
      const float largest = __builtin_bit_cast(float, extremes.magnitude());
      constexpr float limit = static_cast<float>(Activation::limit);
      step.before = largest >= small ? 1.0f : 0x1p100f;
      step.inverse = limit / (largest * step.before);
      step.scale = largest / limit;
    }
  }
  return step;
}

/// The codes of one vector of x.
template <class Activation>
EDGEQ_INLINE typename Simd::Int codes_of(typename Simd::Float x, const QuantizationStep& step) noexcept {
  if constexpr (Activation::is_static) {
    // Beyond +-512 every zero saturates, and the conversion would overflow.
    const auto scaled = Simd::clamp(Simd::divide(x, Simd::set1(step.scale)), -512.0f, 512.0f);
    return Simd::max(Simd::min(Simd::add(Simd::round(scaled), Simd::set1(step.zero)), Simd::set1(127)),
                     Simd::set1(-128));
  } else {
    const auto code = Simd::round(
        Simd::multiply(Simd::keep(Simd::multiply(x, Simd::set1(step.before))), Simd::set1(step.inverse)));
    if constexpr (Activation::has_zero)  // high and low may both round up: 255 steps become 256
      return Simd::min(Simd::add(code, Simd::set1(step.zero)), Simd::set1(127));
    else
      return code;
  }
}

/// Quantizes one accumulation block; `padding` zeros follow its codes. Returns the sum of its codes.
template <class Activation>
EDGEQ_INLINE std::int32_t quantize_block(const XElements& x, std::size_t length, const QuantizationStep& step,
                                         std::int8_t* high, std::int8_t* low, std::size_t padding) noexcept {
  using Int = typename Simd::Int;
  const auto store = [&](std::int8_t* to, Int codes, std::size_t count) EDGEQ_INLINE_LAMBDA {
    if (count >= Simd::lanes) return Simd::store_bytes(to, codes);
    std::int8_t tail[Simd::lanes];
    Simd::store_bytes(tail, codes);
    __builtin_memcpy(to, tail, count);
  };
  Int sum = Simd::set1(0);
  for (std::size_t k = 0; step.finite && k < length; k += Simd::lanes) {
    const Int code = codes_of<Activation>(load_x(x, k, length), step);
    sum = Simd::add(sum, code);
    if constexpr (Activation::planes == 1) {
      store(low + k, code, length - k);
    } else {
      const Int upper = Simd::template shift_right<8>(Simd::add(code, Simd::set1(128)));
      store(high + k, upper, length - k);
      store(low + k, Simd::subtract(code, Simd::template shift_left<8>(upper)), length - k);
    }
  }
  const std::size_t written = step.finite ? length : 0, rest = length - written + padding;
  __builtin_memset(low + written, 0, rest);
  if constexpr (Activation::planes == 2) __builtin_memset(high + written, 0, rest);
  // Zeros behind the end of x have been counted as the zero point.
  const std::size_t counted = (Simd::lanes - written % Simd::lanes) % Simd::lanes;
  return Simd::reduce_add(sum) - static_cast<std::int32_t>(counted) * step.zero;
}

/// The codes of one row: calls write(group, k, length, step) for every accumulation block of every group,
/// which returns the sum of its codes.
template <class Activation, class Write>
EDGEQ_INLINE void quantize_row(const PrepareArguments& p, const XElements& x, std::int32_t* sums,
                               float* scales, const Write& write) noexcept {
  const PanelGeometry& s = *p.geometry;
  QuantizationStep step;
  if constexpr (!Activation::per_group) {
    step = quantization_step<Activation>(extremes_of(x, s.k), p.range);
    scales[0] = step.scale;
    if constexpr (Activation::has_zero) scales[1] = static_cast<float>(step.zero);
  }
  for (std::size_t g = 0; g < s.groups; ++g) {
    const std::size_t length = s.group_length(g);
    if constexpr (Activation::per_group) {
      step = quantization_step<Activation>(extremes_of(x.from(g * s.group), length), p.range);
      scales[g] = step.scale;
    }
    for (std::size_t k = 0; k < length; k += s.accumulation_block) {
      const std::size_t rest = length - k;
      *sums++ = write(g, k, rest < s.accumulation_block ? rest : s.accumulation_block, step);
    }
  }
}

/// The form "codes".
template <class Activation>
void quantize_rows(const PrepareArguments& p) noexcept {
  const PanelGeometry& s = *p.geometry;
  for (std::size_t m = p.row_begin; m < p.row_end; ++m) {
    const XElements x = row_of_x(p, m);
    std::byte* row = p.prepared + m * p.layout.row_bytes;
    auto* high = reinterpret_cast<std::int8_t*>(row);
    std::int8_t* low = high + (Activation::planes - 1) * p.layout.plane_bytes;
    for (std::size_t plane = 0; plane < Activation::planes; ++plane)
      __builtin_memset(high + plane * p.layout.plane_bytes + s.x_columns, 0,
                       p.layout.plane_bytes - s.x_columns);
    quantize_row<Activation>(
        p, x, reinterpret_cast<std::int32_t*>(row + p.layout.sums_offset),
        reinterpret_cast<float*>(row + p.layout.scales_offset),
        [&](std::size_t g, std::size_t k, std::size_t length, const QuantizationStep& step)
            EDGEQ_INLINE_LAMBDA {
              const std::size_t to = g * s.x_group + k, padding = (s.x_step - length % s.x_step) % s.x_step;
              return quantize_block<Activation>(x.from(g * s.group + k), length, step, high + to, low + to,
                                                padding);
            });
  }
}

/// The form "floats": copied, or rounded to bf16, and padded per group with zeros.
template <class Activation>
void copy_rows(const PrepareArguments& p) noexcept {
  const PanelGeometry& s = *p.geometry;
  for (std::size_t m = p.row_begin; m < p.row_end; ++m) {
    auto* row = reinterpret_cast<float*>(p.prepared + m * p.layout.row_bytes);
    for (std::size_t g = 0; g < s.groups; ++g) {
      const XElements x = row_of_x(p, m).from(g * s.group);
      float* to = row + g * s.x_group;
      const std::size_t length = s.group_length(g), padded = round_up(length, s.x_step);
      for (std::size_t k = 0; k < padded; k += Simd::lanes) {
        typename Simd::Float value = load_x(x, k, length);
        if constexpr (std::is_same_v<Activation, Bf16>) value = Simd::from_bits(Simd::bf16_bits(value));
        if (padded - k >= Simd::lanes) {
          Simd::template store_stored<float>(to + k, value);
        } else {
          float tail[Simd::lanes];
          Simd::template store_stored<float>(tail, value);
          __builtin_memcpy(to + k, tail, (padded - k) * sizeof(float));
        }
      }
    }
  }
}
