// SPDX-License-Identifier: Apache-2.0
// AVX-512 with VNNI: 16 columns in one register, vpdpbusd for both halves of a line of nibbles.
#pragma once
#include "edgeq/format/formats.hpp"
#include "edgeq/isa.hpp"
#include "edgeq/kernel/micro_kernel.hpp"
#include "edgeq/kernel/skeleton.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

EDGEQ_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
namespace edgeq::inline EDGEQ_BASELINE {
namespace avx512_vnni {

struct Simd {
  using Int = __m512i;
  using Float = __m512;
  static constexpr std::size_t lanes = 16;
  /// vpdpbusd takes 4 cycles, two start per cycle: 8 chains suffice, and 16 leave half of the registers for
  /// float sums.
  static constexpr std::size_t accumulators = 16;
  static constexpr std::size_t tile_rows = 4;
  template <int>
  static constexpr int subtracted = 0;

  static EDGEQ_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

  static EDGEQ_INLINE Int set1(std::int32_t v) { return _mm512_set1_epi32(v); }
  static EDGEQ_INLINE Int load_codes(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static EDGEQ_INLINE void store_codes(std::uint8_t* p, Int a) { _mm512_storeu_si512(p, a); }
  static EDGEQ_INLINE Int broadcast_4(const std::int8_t* p) { return _mm512_set1_epi32(load_word(p)); }
  static EDGEQ_INLINE Int widen_bytes(const std::uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static EDGEQ_INLINE Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static EDGEQ_INLINE Int subtract(Int a, Int b) { return _mm512_sub_epi32(a, b); }
  static EDGEQ_INLINE Int multiply(Int a, Int b) { return _mm512_mullo_epi32(a, b); }
  static EDGEQ_INLINE Int max(Int a, Int b) { return _mm512_max_epi32(a, b); }
  static EDGEQ_INLINE Int min(Int a, Int b) { return _mm512_min_epi32(a, b); }
  static EDGEQ_INLINE Int bit_and(Int a, Int b) { return _mm512_and_si512(a, b); }
  static EDGEQ_INLINE Int bit_or(Int a, Int b) { return _mm512_or_si512(a, b); }
  static EDGEQ_INLINE Int high_nibbles(Int a) {
    return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(15));
  }
  template <int Count>
  static EDGEQ_INLINE Int shift_left(Int a) {
    return _mm512_slli_epi32(a, Count);
  }
  template <int Count>
  static EDGEQ_INLINE Int shift_right(Int a) {
    return _mm512_srai_epi32(a, Count);
  }
  static EDGEQ_INLINE Int shift_right_by(Int a, int count) {
    return _mm512_srl_epi32(a, _mm_cvtsi32_si128(count));
  }
  static EDGEQ_INLINE std::int32_t reduce_add(Int a) { return _mm512_reduce_add_epi32(a); }
  static EDGEQ_INLINE std::int32_t reduce_max(Int a) { return _mm512_reduce_max_epi32(a); }
  static EDGEQ_INLINE void store_bytes(std::int8_t* p, Int a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
  }

  /// acc += codes . x, four k in each lane. One line of asm: with the intrinsic GCC copies accumulators
  /// (x0.65), and folding the broadcast of x into the instruction costs either compiler a third.
  static EDGEQ_INLINE void dot_4(Int& acc, Int codes, Int x) {
    asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(codes), "v"(x));
  }
  template <int, std::size_t Words>
  static EDGEQ_INLINE void dot(Int& acc, const Int (&values)[Words], const Int (&x)[Words]) {
    EDGEQ_FOR (w, Words) dot_4(acc, values[w], x[w]);
  }
  static EDGEQ_INLINE Int broadcast_16(const std::uint8_t* p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static EDGEQ_INLINE Int lookup_bytes(Int table, Int indices) { return _mm512_shuffle_epi8(table, indices); }
  static EDGEQ_INLINE Float lookup(const float* table, Int index) {
    return _mm512_permutexvar_ps(index, _mm512_loadu_ps(table));
  }

  static EDGEQ_INLINE Float set1(float v) { return _mm512_set1_ps(v); }
  static EDGEQ_INLINE Int bits(Float a) { return _mm512_castps_si512(a); }
  static EDGEQ_INLINE Float from_bits(Int a) { return _mm512_castsi512_ps(a); }
  static EDGEQ_INLINE Float to_float(Int a) { return _mm512_cvtepi32_ps(a); }
  static EDGEQ_INLINE Int round(Float a) { return _mm512_cvtps_epi32(a); }
  static EDGEQ_INLINE Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static EDGEQ_INLINE Float subtract(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static EDGEQ_INLINE Float keep(Float a) {
    asm("" : "+v"(a));
    return a;
  }
  static EDGEQ_INLINE Float multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static EDGEQ_INLINE Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static EDGEQ_INLINE Float min(Float a, Float b) { return _mm512_min_ps(a, b); }
  static EDGEQ_INLINE Float divide(Float a, Float b) { return _mm512_div_ps(a, b); }
  static EDGEQ_INLINE Float clamp(Float a, float low, float high) {
    return _mm512_max_ps(_mm512_min_ps(a, _mm512_set1_ps(high)), _mm512_set1_ps(low));
  }
  static EDGEQ_INLINE Int bf16_bits(Float a) {
    const Int u = bits(a), odd = bit_and(_mm512_srli_epi32(u, 16), set1(1));
    const __mmask16 is_nan = _mm512_cmpgt_epi32_mask(bit_and(u, set1(0x7FFFFFFF)), set1(0x7F800000));
    const Int rounded = add(u, add(odd, set1(0x7FFF)));
    return bit_and(_mm512_mask_or_epi32(rounded, is_nan, u, set1(0x400000)), set1(-65536));
  }

  template <StoredFloat T>
  static EDGEQ_INLINE Float load_stored(const void* p) {
    if constexpr (sizeof(T) == 4)
      return _mm512_loadu_ps(p);
    else {
      const __m256i bits = _mm256_loadu_si256(static_cast<const __m256i*>(p));
      if constexpr (std::is_same_v<T, Float16>)
        return _mm512_cvtph_ps(bits);
      else
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
    }
  }
  template <StoredFloat T>
  static EDGEQ_INLINE void store_stored(void* p, Float a) {
    if constexpr (sizeof(T) == 4)
      _mm512_storeu_ps(p, a);
    else if constexpr (std::is_same_v<T, Float16>)
      _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    else
      _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(shift_right<16>(bf16_bits(a))));
  }
  /// Element I of each column's lane of a line of float weights.
  template <StoredFloat T, std::size_t I>
  static EDGEQ_INLINE Float load_weight(const std::uint8_t* line) {
    if constexpr (sizeof(T) == 4)
      return _mm512_loadu_ps(line);
    else {
      const Int pair = _mm512_loadu_si512(line);
      if constexpr (std::is_same_v<T, Float16>)
        return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pair, int{16 * I})));
      else if constexpr (I == 0)
        return _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16));
      else
        return _mm512_castsi512_ps(_mm512_and_si512(pair, _mm512_set1_epi32(-65536)));
    }
  }
};

#include "edgeq/kernel/skeletons.inl"

}
EDGEQ_INTEGER_KERNELS_OF_SKELETONS(avx512_vnni)
EDGEQ_FLOAT_KERNELS_OF_SKELETONS(avx512_vnni)
}
EDGEQ_TARGET_END
#endif
