// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD with sdot: four k of a row, by lane, times four columns.
#pragma once
#include "edgeq/isa/neon.hpp"

#if defined(EDGEQ_HAS_ARM_TARGETS)

EDGEQ_TARGET_BEGIN(EDGEQ_ARM_TARGET("dotprod"))
namespace edgeq::inline EDGEQ_BASELINE {
namespace neon_dotprod {

using neon::Simd;

/// One row by four columns in 16 k, which lie in x as they are.
struct Tile {
  static constexpr std::size_t step_k = 16, row_unit = 1, parts = 1, x_bytes = step_k;
  static constexpr std::size_t accumulators = 8;
  /// Twelve rows and their float sums, with four registers of values, leave four for x.
  static constexpr std::size_t rows_of(std::size_t planes) { return planes == 1 ? 12 : 4; }
  static EDGEQ_INLINE void store_x(std::int8_t* to, std::size_t, const std::int8_t* codes) {
    __builtin_memcpy(to, codes, step_k);
  }
  static EDGEQ_INLINE void interleave(Simd::Int&, Simd::Int&) {}
  /// As lines of asm: with intrinsics GCC copies accumulators.
  template <int>
  static EDGEQ_INLINE void multiply(Simd::Int (&acc)[1], const Simd::Int (&values)[4],
                                    const std::int8_t* codes) {
    const int8x16_t x = vld1q_s8(codes);
    asm("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(acc[0]) : "w"(values[0]), "w"(x));
    asm("sdot %0.4s, %1.16b, %2.4b[1]" : "+w"(acc[0]) : "w"(values[1]), "w"(x));
    asm("sdot %0.4s, %1.16b, %2.4b[2]" : "+w"(acc[0]) : "w"(values[2]), "w"(x));
    asm("sdot %0.4s, %1.16b, %2.4b[3]" : "+w"(acc[0]) : "w"(values[3]), "w"(x));
  }
  template <class Register>
  static EDGEQ_INLINE Register columns(Register a, std::size_t) {
    return a;
  }
  static EDGEQ_INLINE Simd::Float rows(float a, float) { return Simd::set1(a); }
  static EDGEQ_INLINE void transpose(Simd::Float (&)[1]) {}
};

#include "edgeq/kernel/quad_skeletons.inl"

}
// Float activations gain nothing from sdot: they run on neon.
EDGEQ_KERNELS_OF_QUADS(neon_dotprod, 1)
}
EDGEQ_TARGET_END
#endif
