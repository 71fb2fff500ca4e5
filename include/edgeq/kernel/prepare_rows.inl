// SPDX-License-Identifier: Apache-2.0
// Skeleton of activation preparation, included once inside each ISA's region, over that ISA's `Simd`.
//
// It writes rows in the form of PreparedLayout: codes (or floats) padded per group with zeros, the sums of
// codes of every accumulation block, and the scales. See DynamicInteger for the rounding rule, which is the
// same to the bit on every ISA.

/// How one row (or group) becomes codes: code = round(x * before * inverse).
struct QuantizationStep {
  float before = 1.0f;
  float inverse = 0.0f;
  float scale = 0.0f;
  bool finite = true;
};

/// From the largest |x|, as bits, so that neither NaN nor -ffast-math can disturb the comparison. No code
/// exceeds the limit: |x| * inverse is at most limit * (1 + 2^-23), which rounds to it.
EDGEQ_INLINE QuantizationStep quantization_step(std::int32_t magnitude_bits, int limit_value) noexcept {
  const float limit = static_cast<float>(limit_value);
  if (magnitude_bits >= 0x7F800000) return {1.0f, 0.0f, __builtin_bit_cast(float, 0x7FC00000), false};
  if (magnitude_bits == 0) return {};
  const float largest = __builtin_bit_cast(float, magnitude_bits);
  if (magnitude_bits >= 0x0D800000) return {1.0f, limit / largest, largest / limit, true};  // 2^-100
  return {0x1p100f, limit / (largest * 0x1p100f), largest / limit, true};
}

/// The bits of the largest |x| of `length` elements.
EDGEQ_INLINE std::int32_t largest_magnitude(const float* x, std::size_t length) noexcept {
  typename Simd::Int largest = Simd::set1(0);
  std::size_t k = 0;
  for (; k + Simd::lanes <= length; k += Simd::lanes)
    largest = Simd::max(largest, Simd::magnitude_bits(x + k));
  if (k < length) {
    float tail[Simd::lanes] = {};
    __builtin_memcpy(tail, x + k, (length - k) * sizeof(float));
    largest = Simd::max(largest, Simd::magnitude_bits(tail));
  }
  return Simd::reduce_max(largest);
}

/// Quantizes one vector of x into each plane and adds its codes to `sum`.
template <class Activation>
EDGEQ_INLINE void quantize_vector(const float* x, const QuantizationStep& step, std::int8_t* high,
                                  std::int8_t* low, typename Simd::Int& sum) noexcept {
  const auto scaled = Simd::multiply(Simd::keep(Simd::multiply(Simd::load_float(x), Simd::set1(step.before))),
                                     Simd::set1(step.inverse));
  const typename Simd::Int code = Simd::round(scaled);
  sum = Simd::add(sum, code);
  if constexpr (Activation::planes == 1) {
    Simd::store_bytes(low, code);
  } else {
    const typename Simd::Int upper = Simd::shift_right_8(Simd::add(code, Simd::set1(128)));
    Simd::store_bytes(high, upper);
    Simd::store_bytes(low, Simd::subtract(code, Simd::shift_left_8(upper)));
  }
}

/// Quantizes one accumulation block; `x_padding` zeros follow its codes. Returns the sum of its codes.
template <class Activation>
EDGEQ_INLINE std::int32_t quantize_block(const float* x, std::size_t length, const QuantizationStep& step,
                                         std::int8_t* high, std::int8_t* low, std::size_t padding) noexcept {
  if (!step.finite) {
    __builtin_memset(low, 0, length + padding);
    if constexpr (Activation::planes == 2) __builtin_memset(high, 0, length + padding);
    return 0;
  }
  typename Simd::Int sum = Simd::set1(0);
  std::size_t k = 0;
  for (; k + Simd::lanes <= length; k += Simd::lanes)
    quantize_vector<Activation>(x + k, step, high + k, low + k, sum);
  if (k < length) {
    float tail[Simd::lanes] = {};
    std::int8_t high_tail[Simd::lanes], low_tail[Simd::lanes];
    __builtin_memcpy(tail, x + k, (length - k) * sizeof(float));
    quantize_vector<Activation>(tail, step, high_tail, low_tail, sum);
    __builtin_memcpy(low + k, low_tail, length - k);
    if constexpr (Activation::planes == 2) __builtin_memcpy(high + k, high_tail, length - k);
  }
  __builtin_memset(low + length, 0, padding);
  if constexpr (Activation::planes == 2) __builtin_memset(high + length, 0, padding);
  return Simd::reduce_add(sum);
}

template <class Activation>
void quantize_rows(const PrepareArguments& p) noexcept {
  const PanelGeometry& s = *p.geometry;
  for (std::size_t m = p.row_begin; m < p.row_end; ++m) {
    const float* x = p.x + m * p.x_stride;
    std::byte* row = p.prepared + m * p.layout.row_bytes;
    auto* high = reinterpret_cast<std::int8_t*>(row);
    std::int8_t* low = high + (Activation::planes - 1) * p.layout.plane_bytes;
    auto* sums = reinterpret_cast<std::int32_t*>(row + p.layout.sums_offset);
    auto* scales = reinterpret_cast<float*>(row + p.layout.scales_offset);

    QuantizationStep step;
    if constexpr (!Activation::per_group) {
      step = quantization_step(largest_magnitude(x, s.k), Activation::limit);
      scales[0] = step.scale;
    }
    for (std::size_t g = 0; g < s.groups; ++g) {
      const std::size_t length = s.group_length(g), from = g * s.group, to = g * s.x_group;
      if constexpr (Activation::per_group) {
        step = quantization_step(largest_magnitude(x + from, length), Activation::limit);
        scales[g] = step.scale;
      }
      for (std::size_t k = 0; k < length; k += s.accumulation_block) {
        const std::size_t rest = length - k,
                          block = rest < s.accumulation_block ? rest : s.accumulation_block;
        const std::size_t padding =
            (PanelGeometry::x_step - block % PanelGeometry::x_step) % PanelGeometry::x_step;
        *sums++ = quantize_block<Activation>(x + from + k, block, step, high + to + k, low + to + k, padding);
      }
    }
  }
}

/// Float activations are copied, padded per group with zeros.
inline void copy_rows(const PrepareArguments& p) noexcept {
  const PanelGeometry& s = *p.geometry;
  for (std::size_t m = p.row_begin; m < p.row_end; ++m) {
    const float* x = p.x + m * p.x_stride;
    auto* row = reinterpret_cast<float*>(p.prepared + m * p.layout.row_bytes);
    for (std::size_t g = 0; g < s.groups; ++g) {
      const std::size_t length = s.group_length(g);
      float* to = row + g * s.x_group;
      __builtin_memcpy(to, x + g * s.group, length * sizeof(float));
      for (std::size_t k = length; k % PanelGeometry::x_step != 0; ++k) to[k] = 0.0f;
    }
  }
}
