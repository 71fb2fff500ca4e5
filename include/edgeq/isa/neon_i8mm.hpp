// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD with smmla: eight k of two rows times two columns.
#pragma once
#include "edgeq/isa/neon.hpp"

#if defined(EDGEQ_HAS_ARM_TARGETS)

EDGEQ_TARGET_BEGIN(EDGEQ_ARM_TARGET("i8mm"))
namespace edgeq::inline EDGEQ_BASELINE {
namespace neon_i8mm {

using neon::Simd;

/// Two rows by four columns, two in each part, in 16 k. Lanes of a part: both columns of the first row, both
/// of the second. The two words that lines of nibbles have side by side in a column are 8 k apart, so x
/// stands in the order 0..3, 8..11 and 4..7, 12..15: two permutations less for every 16 k of weights.
struct Tile {
  static constexpr std::size_t step_k = 16, row_unit = 2, parts = 2, x_bytes = 2 * step_k;
  static constexpr std::size_t accumulators = 8;
  static constexpr std::size_t rows_of(std::size_t planes) { return 8 / planes; }
  static EDGEQ_INLINE void store_x(std::int8_t* to, std::size_t row, const std::int8_t* codes) {
    const int32x4_t words = vreinterpretq_s32_s8(vld1q_s8(codes));
    const int32x4_t sorted = vuzp1q_s32(words, words), others = vuzp2q_s32(words, words);
    vst1_s8(to + row * 8, vreinterpret_s8_s32(vget_low_s32(sorted)));
    vst1_s8(to + 16 + row * 8, vreinterpret_s8_s32(vget_low_s32(others)));
  }
  static EDGEQ_INLINE void interleave(Simd::Int& a, Simd::Int& b) {
    const Simd::Int first = vzip1q_s32(a, b);
    b = vzip2q_s32(a, b);
    a = first;
  }
  /// As lines of asm: with intrinsics GCC copies accumulators.
  template <int>
  static EDGEQ_INLINE void multiply(Simd::Int (&acc)[2], const Simd::Int (&values)[4],
                                    const std::int8_t* codes) {
    const int8x16_t first = vld1q_s8(codes), second = vld1q_s8(codes + 16);
    asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(acc[0]) : "w"(first), "w"(values[0]));
    asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(acc[1]) : "w"(first), "w"(values[2]));
    asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(acc[0]) : "w"(second), "w"(values[1]));
    asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(acc[1]) : "w"(second), "w"(values[3]));
  }
  static EDGEQ_INLINE Simd::Int columns(Simd::Int a, std::size_t part) {
    const int64x2_t pairs = vreinterpretq_s64_s32(a);
    return vreinterpretq_s32_s64(part == 0 ? vdupq_laneq_s64(pairs, 0) : vdupq_laneq_s64(pairs, 1));
  }
  static EDGEQ_INLINE Simd::Float columns(Simd::Float a, std::size_t part) {
    return Simd::from_bits(columns(Simd::bits(a), part));
  }
  static EDGEQ_INLINE Simd::Float rows(float a, float b) {
    return vcombine_f32(vdup_n_f32(a), vdup_n_f32(b));
  }
  static EDGEQ_INLINE void transpose(Simd::Float (&a)[2]) {
    const float64x2_t first = vreinterpretq_f64_f32(a[0]), second = vreinterpretq_f64_f32(a[1]);
    a[0] = vreinterpretq_f32_f64(vtrn1q_f64(first, second));
    a[1] = vreinterpretq_f32_f64(vtrn2q_f64(first, second));
  }
};

#include "edgeq/kernel/quad_skeletons.inl"

}
// One row would leave half of every product unused: it runs on sdot.
EDGEQ_KERNELS_OF_QUADS(neon_i8mm, 2)
}
EDGEQ_TARGET_END
#endif
