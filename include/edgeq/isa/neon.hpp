// SPDX-License-Identifier: Apache-2.0
// Advanced SIMD of 64-bit Arm: registers of 4 columns.
#pragma once
#include "edgeq/isa.hpp"
#include "edgeq/kernel/micro_kernel.hpp"
#include "edgeq/kernel/row_tiles.hpp"
#include "edgeq/kernel/skeleton.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

EDGEQ_PRECISE_BEGIN
namespace edgeq::inline EDGEQ_BASELINE {
namespace neon {

struct Simd {
  using Int = int32x4_t;
  using Float = float32x4_t;
  static constexpr std::size_t lanes = 4;
  /// Float sums of as many and the operands share the 32 registers with them.
  static constexpr std::size_t accumulators = 8;
  static constexpr std::size_t tile_rows = 4;
  /// Bytes are multiplied as signed ones: values beyond 127 less 128.
  template <int Largest>
  static constexpr int subtracted = Largest > 127 ? 128 : 0;

  static EDGEQ_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

  static EDGEQ_INLINE Int set1(std::int32_t v) { return vdupq_n_s32(v); }
  static EDGEQ_INLINE Int load_codes(const std::uint8_t* p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
  static EDGEQ_INLINE void store_codes(std::uint8_t* p, Int a) { vst1q_u8(p, vreinterpretq_u8_s32(a)); }
  static EDGEQ_INLINE Int broadcast_4(const std::int8_t* p) { return vdupq_n_s32(load_word(p)); }
  static EDGEQ_INLINE Int widen_bytes(const std::uint8_t* p) {
    const uint8x8_t bytes = vreinterpret_u8_s32(vdup_n_s32(load_word(p)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
  }
  static EDGEQ_INLINE Int add(Int a, Int b) { return vaddq_s32(a, b); }
  static EDGEQ_INLINE Int subtract(Int a, Int b) { return vsubq_s32(a, b); }
  static EDGEQ_INLINE Int multiply(Int a, Int b) { return vmulq_s32(a, b); }
  static EDGEQ_INLINE Int max(Int a, Int b) { return vmaxq_s32(a, b); }
  static EDGEQ_INLINE Int min(Int a, Int b) { return vminq_s32(a, b); }
  static EDGEQ_INLINE Int bit_and(Int a, Int b) { return vandq_s32(a, b); }
  static EDGEQ_INLINE Int bit_or(Int a, Int b) { return vorrq_s32(a, b); }
  static EDGEQ_INLINE Int high_nibbles(Int a) {
    return vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(a), 4));
  }
  template <int Count>
  static EDGEQ_INLINE Int shift_left(Int a) {
    return vshlq_n_s32(a, Count);
  }
  template <int Count>
  static EDGEQ_INLINE Int shift_right(Int a) {
    if constexpr (Count == 0)
      return a;
    else
      return vshrq_n_s32(a, Count);
  }
  static EDGEQ_INLINE Int shift_right_by(Int a, int count) { return vshlq_s32(a, vdupq_n_s32(-count)); }
  static EDGEQ_INLINE std::int32_t reduce_add(Int a) { return vaddvq_s32(a); }
  static EDGEQ_INLINE std::int32_t reduce_max(Int a) { return vmaxvq_s32(a); }
  static EDGEQ_INLINE void store_bytes(std::int8_t* p, Int a) {
    const int16x4_t words = vqmovn_s32(a);
    const std::int32_t bytes = vget_lane_s32(vreinterpret_s32_s8(vqmovn_s16(vcombine_s16(words, words))), 0);
    __builtin_memcpy(p, &bytes, sizeof(bytes));
  }

  static EDGEQ_INLINE Int broadcast_16(const std::uint8_t* p) { return load_codes(p); }
  static EDGEQ_INLINE Int lookup_bytes(Int table, Int indices) {
    return vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(table), vreinterpretq_u8_s32(indices)));
  }

  /// Values up to Largest as the signed bytes that dot multiplies.
  template <int Largest>
  static EDGEQ_INLINE Int as_signed(Int values) {
    if constexpr (subtracted<Largest> == 0)
      return values;
    else
      return vreinterpretq_s32_s8(veorq_s8(vreinterpretq_s8_s32(values), vdupq_n_s8(-128)));
  }
  /// GCC's scheduler brings loads of a whole unrolled group forward and then has no registers left.
  static EDGEQ_INLINE void keep_order() {
#if !defined(__clang__)
    asm volatile("" ::: "memory");
#endif
  }
  /// Products of bytes are summed in 16 bits, as many as fit, then pairs of them in 32.
  template <int Largest, std::size_t Words>
  static EDGEQ_INLINE void dot(Int& acc, const Int (&values)[Words], const Int (&x)[Words]) {
    // Two products of a lane's four bytes meet in each of the sums that are added to acc.
    constexpr std::size_t fit = Largest > 127 ? 0 : 32767 / (2 * 128 * Largest);
    if constexpr (fit != 0) {
      constexpr std::size_t step = fit < Words ? fit : Words;
      EDGEQ_FOR (i, Words / step) {
        const int8x16_t first = vreinterpretq_s8_s32(values[i * step]),
                        by = vreinterpretq_s8_s32(x[i * step]);
        int16x8_t low = vmull_s8(vget_low_s8(first), vget_low_s8(by)), high = vmull_high_s8(first, by);
        // As lines of asm: with intrinsics GCC copies accumulators.
        EDGEQ_FOR (j, step - 1) {
          const int8x16_t next = vreinterpretq_s8_s32(values[i * step + j + 1]),
                          next_by = vreinterpretq_s8_s32(x[i * step + j + 1]);
          asm("smlal %0.8h, %1.8b, %2.8b" : "+w"(low) : "w"(next), "w"(next_by));
          asm("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(high) : "w"(next), "w"(next_by));
        }
        acc = vpadalq_s16(acc, vpaddq_s16(low, high));
      }
    } else {
      EDGEQ_FOR (i, Words) {
        const int8x16_t bytes = vreinterpretq_s8_s32(values[i]), by = vreinterpretq_s8_s32(x[i]);
        const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(bytes), vget_low_s8(by))),
                        high = vpaddlq_s16(vmull_high_s8(bytes, by));
        acc = vaddq_s32(acc, vpaddq_s32(low, high));
      }
    }
  }

  static EDGEQ_INLINE Float set1(float v) {
    return vdupq_n_f32(v);
  }
  static EDGEQ_INLINE Int bits(Float a) {
    return vreinterpretq_s32_f32(a);
  }
  static EDGEQ_INLINE Float from_bits(Int a) {
    return vreinterpretq_f32_s32(a);
  }
  static EDGEQ_INLINE Float to_float(Int a) {
    return vcvtq_f32_s32(a);
  }
  static EDGEQ_INLINE Int round(Float a) {
    return vcvtnq_s32_f32(a);
  }
  static EDGEQ_INLINE Float add(Float a, Float b) {
    return vaddq_f32(a, b);
  }
  static EDGEQ_INLINE Float subtract(Float a, Float b) {
    return vsubq_f32(a, b);
  }
  static EDGEQ_INLINE Float keep(Float a) {
    asm("" : "+w"(a));
    return a;
  }
  static EDGEQ_INLINE Float multiply(Float a, Float b) {
    return vmulq_f32(a, b);
  }
  static EDGEQ_INLINE Float fma(Float a, Float b, Float c) {
    return vfmaq_f32(c, a, b);
  }
  static EDGEQ_INLINE Float min(Float a, Float b) {
    return vminq_f32(a, b);
  }
  static EDGEQ_INLINE Float divide(Float a, Float b) {
    return vdivq_f32(a, b);
  }
  static EDGEQ_INLINE Float clamp(Float a, float low, float high) {
    return vmaxq_f32(vminq_f32(a, vdupq_n_f32(high)), vdupq_n_f32(low));
  }
  static EDGEQ_INLINE Int bf16_bits(Float a) {
    const Int u = bits(a), odd = bit_and(shift_right<16>(u), set1(1));
    const uint32x4_t is_nan = vcgtq_s32(bit_and(u, set1(0x7FFFFFFF)), set1(0x7F800000));
    const Int rounded = add(u, add(odd, set1(0x7FFF)));
    return bit_and(vbslq_s32(is_nan, bit_or(u, set1(0x400000)), rounded), set1(-65536));
  }
  /// Four bytes of each entry, by their places in the table.
  static EDGEQ_INLINE Float lookup(const float* table, Int index) {
    const uint8x16x4_t bytes = vld1q_u8_x4(reinterpret_cast<const std::uint8_t*>(table));
    const Int places = vmlaq_s32(set1(0x03020100), index, set1(0x04040404));
    return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_s32(places)));
  }

  template <StoredFloat T>
  static EDGEQ_INLINE Float load_stored(const void* p) {
    if constexpr (sizeof(T) == 4) {
      Float value;
      __builtin_memcpy(&value, p, sizeof(value));
      return value;
    } else {
      uint16x4_t words;
      __builtin_memcpy(&words, p, sizeof(words));
      if constexpr (std::is_same_v<T, Float16>)
        return vcvt_f32_f16(vreinterpret_f16_u16(words));
      else
        return vreinterpretq_f32_u32(vshll_n_u16(words, 16));
    }
  }
  template <StoredFloat T>
  static EDGEQ_INLINE void store_stored(void* p, Float a) {
    if constexpr (sizeof(T) == 4) {
      __builtin_memcpy(p, &a, sizeof(a));
    } else {
      uint16x4_t words;
      if constexpr (std::is_same_v<T, Float16>)
        words = vreinterpret_u16_f16(vcvt_f16_f32(a));
      else
        words = vshrn_n_u32(vreinterpretq_u32_s32(bf16_bits(a)), 16);
      __builtin_memcpy(p, &words, sizeof(words));
    }
  }
  template <StoredFloat T, std::size_t I>
  static EDGEQ_INLINE Float load_weight(const std::uint8_t* line) {
    if constexpr (sizeof(T) == 4) {
      return load_stored<float>(line);
    } else {
      const Int pair = load_codes(line);
      if constexpr (std::is_same_v<T, Float16>)
        return vcvt_f32_f16(vreinterpret_f16_s16(vmovn_s32(shift_right<int{16 * I}>(pair))));
      else
        return from_bits(I == 0 ? shift_left<16>(pair) : bit_and(pair, set1(-65536)));
    }
  }
};

/// One row by four columns in 32 k: words of x stand four times each, as multiplications by lane do not
/// exist.
struct Tile {
  static constexpr std::size_t step_k = 32, row_unit = 1, parts = 1, x_bytes = 4 * step_k;
  static constexpr std::size_t accumulators = 4;
  static constexpr std::size_t rows_of(std::size_t planes) { return 4 / planes; }
  static EDGEQ_INLINE void store_x(std::int8_t* to, std::size_t, const std::int8_t* codes) {
    for (std::size_t w = 0; w < step_k / 4; ++w)
      Simd::store_codes(reinterpret_cast<std::uint8_t*>(to) + w * 16, Simd::broadcast_4(codes + w * 4));
  }
  static EDGEQ_INLINE void interleave(Simd::Int&, Simd::Int&) {}
  template <int Largest>
  static EDGEQ_INLINE void multiply(Simd::Int (&acc)[1], const Simd::Int (&values)[8], const std::int8_t* x) {
    Simd::Int words[8];
    EDGEQ_FOR (w, 8) words[w] = Simd::load_codes(reinterpret_cast<const std::uint8_t*>(x) + w * 16);
    Simd::dot<Largest>(acc[0], values, words);
  }
  template <class Register>
  static EDGEQ_INLINE Register columns(Register a, std::size_t) {
    return a;
  }
  static EDGEQ_INLINE Simd::Float rows(float a, float) { return Simd::set1(a); }
  static EDGEQ_INLINE void transpose(Simd::Float (&)[1]) {}
};

#include "edgeq/kernel/skeletons.inl"

// Over these.
#include "edgeq/kernel/prepare_tiles.inl"

// Over all of these.
#include "edgeq/kernel/quad_product.inl"

}
EDGEQ_KERNELS_OF_QUADS(neon, 1)
EDGEQ_FLOAT_KERNELS_OF_SKELETONS(neon)
}
EDGEQ_PRECISE_END

#endif
