// SPDX-License-Identifier: Apache-2.0
// AVX2, and AVX-VNNI, which differs from it in one instruction: two registers of 8 columns.
#pragma once
#include "edgeq/isa.hpp"
#include "edgeq/kernel/micro_kernel.hpp"
#include "edgeq/kernel/skeleton.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

EDGEQ_TARGET_BEGIN("avx2,fma,f16c")
namespace edgeq::inline EDGEQ_BASELINE {
namespace avx2 {

struct Simd {
  using Int = __m256i;
  using Float = __m256;
  static constexpr std::size_t lanes = 8;
  /// Half of the 16 registers; float sums of a longer tile go to memory, but only at the end of a group.
  static constexpr std::size_t accumulators = 8;
  static constexpr std::size_t tile_rows = 4;
  template <int>
  static constexpr int subtracted = 0;

  static EDGEQ_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

  static EDGEQ_INLINE Int set1(std::int32_t v) { return _mm256_set1_epi32(v); }
  static EDGEQ_INLINE Int load_codes(const std::uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static EDGEQ_INLINE Int broadcast_4(const std::int8_t* p) { return _mm256_set1_epi32(load_word(p)); }
  static EDGEQ_INLINE Int widen_bytes(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static EDGEQ_INLINE Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static EDGEQ_INLINE Int subtract(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  static EDGEQ_INLINE Int multiply(Int a, Int b) { return _mm256_mullo_epi32(a, b); }
  static EDGEQ_INLINE Int max(Int a, Int b) { return _mm256_max_epi32(a, b); }
  static EDGEQ_INLINE Int min(Int a, Int b) { return _mm256_min_epi32(a, b); }
  static EDGEQ_INLINE Int bit_and(Int a, Int b) { return _mm256_and_si256(a, b); }
  static EDGEQ_INLINE Int bit_or(Int a, Int b) { return _mm256_or_si256(a, b); }
  static EDGEQ_INLINE Int high_nibbles(Int a) {
    return _mm256_and_si256(_mm256_srli_epi16(a, 4), _mm256_set1_epi8(15));
  }
  template <int Count>
  static EDGEQ_INLINE Int shift_left(Int a) {
    return _mm256_slli_epi32(a, Count);
  }
  template <int Count>
  static EDGEQ_INLINE Int shift_right(Int a) {
    return _mm256_srai_epi32(a, Count);
  }
  static EDGEQ_INLINE Int shift_right_by(Int a, int count) {
    return _mm256_srl_epi32(a, _mm_cvtsi32_si128(count));
  }
  static EDGEQ_INLINE std::int32_t reduce_add(Int a) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1)));
  }
  static EDGEQ_INLINE std::int32_t reduce_max(Int a) {
    __m128i s = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(s, _mm_shuffle_epi32(s, 0xB1)));
  }
  static EDGEQ_INLINE void store_bytes(std::int8_t* p, Int a) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }

  static EDGEQ_INLINE Int broadcast_16(const std::uint8_t* p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static EDGEQ_INLINE Int lookup_bytes(Int table, Int indices) { return _mm256_shuffle_epi8(table, indices); }

  /// vpmaddubsw saturates at 2^15: as many sums of two products as stay below are added before they are
  /// widened. Values up to 255 go in as 16 * high + low; 255 * 128 * 2 would saturate by itself, and the sign
  /// trick fails for -128 x -128.
  template <int Largest, std::size_t Words>
  static EDGEQ_INLINE void dot(Int& acc, const Int (&values)[Words], const Int (&x)[Words]) {
    constexpr std::size_t fit = 32767 / (2 * 128 * Largest);
    if constexpr (fit != 0) {
      constexpr std::size_t step = fit < Words ? fit : Words;
      EDGEQ_FOR (i, Words / step) {
        Int pairs = _mm256_maddubs_epi16(values[i * step], x[i * step]);
        EDGEQ_FOR (j, step - 1)
          pairs =
              _mm256_add_epi16(pairs, _mm256_maddubs_epi16(values[i * step + j + 1], x[i * step + j + 1]));
        acc = add(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
      }
    } else {
      const Int mask = _mm256_set1_epi8(15);
      EDGEQ_FOR (i, Words) {
        const Int low = _mm256_maddubs_epi16(_mm256_and_si256(values[i], mask), x[i]);
        const Int high = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(values[i], 4), mask), x[i]);
        acc = add(acc, add(_mm256_madd_epi16(low, _mm256_set1_epi16(1)),
                           _mm256_madd_epi16(high, _mm256_set1_epi16(16))));
      }
    }
  }

  static EDGEQ_INLINE Float set1(float v) { return _mm256_set1_ps(v); }
  static EDGEQ_INLINE Int bits(Float a) { return _mm256_castps_si256(a); }
  static EDGEQ_INLINE Float from_bits(Int a) { return _mm256_castsi256_ps(a); }
  static EDGEQ_INLINE Float to_float(Int a) { return _mm256_cvtepi32_ps(a); }
  static EDGEQ_INLINE Int round(Float a) { return _mm256_cvtps_epi32(a); }
  static EDGEQ_INLINE Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static EDGEQ_INLINE Float subtract(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static EDGEQ_INLINE Float keep(Float a) {
    asm("" : "+x"(a));
    return a;
  }
  static EDGEQ_INLINE Float multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static EDGEQ_INLINE Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static EDGEQ_INLINE Float min(Float a, Float b) { return _mm256_min_ps(a, b); }
  static EDGEQ_INLINE Float divide(Float a, Float b) { return _mm256_div_ps(a, b); }
  static EDGEQ_INLINE Float clamp(Float a, float low, float high) {
    return _mm256_max_ps(_mm256_min_ps(a, _mm256_set1_ps(high)), _mm256_set1_ps(low));
  }
  static EDGEQ_INLINE Int bf16_bits(Float a) {
    const Int u = bits(a), odd = bit_and(_mm256_srli_epi32(u, 16), set1(1));
    const Int is_nan = _mm256_cmpgt_epi32(bit_and(u, set1(0x7FFFFFFF)), set1(0x7F800000));
    const Int rounded = add(u, add(odd, set1(0x7FFF)));
    return bit_and(_mm256_blendv_epi8(rounded, bit_or(u, set1(0x400000)), is_nan), set1(-65536));
  }

  static EDGEQ_INLINE Float lookup(const float* table, Int index) {
    const Float low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index);
    const Float high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), index);
    return _mm256_blendv_ps(low, high, from_bits(_mm256_slli_epi32(index, 28)));  // bit 3 as the sign
  }

  template <StoredFloat T>
  static EDGEQ_INLINE Float load_stored(const void* p) {
    if constexpr (sizeof(T) == 4)
      return _mm256_loadu_ps(static_cast<const float*>(p));
    else {
      const __m128i bits = _mm_loadu_si128(static_cast<const __m128i*>(p));
      if constexpr (std::is_same_v<T, Float16>)
        return _mm256_cvtph_ps(bits);
      else
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
  }
  template <StoredFloat T>
  static EDGEQ_INLINE void store_stored(void* p, Float a) {
    auto* to = static_cast<__m128i*>(p);
    if constexpr (sizeof(T) == 4) {
      _mm256_storeu_ps(static_cast<float*>(p), a);
    } else if constexpr (std::is_same_v<T, Float16>) {
      _mm_storeu_si128(to, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    } else {
      const Int words = _mm256_srli_epi32(bf16_bits(a), 16);
      _mm_storeu_si128(
          to, _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08)));
    }
  }
  template <StoredFloat T, std::size_t I>
  static EDGEQ_INLINE Float load_weight(const std::uint8_t* line) {
    if constexpr (sizeof(T) == 4)
      return _mm256_loadu_ps(reinterpret_cast<const float*>(line));
    else {
      const Int pair = load_codes(line);
      if constexpr (std::is_same_v<T, Float16>) {
        const Int half = _mm256_and_si256(_mm256_srli_epi32(pair, int{16 * I}), _mm256_set1_epi32(0xFFFF));
        const Int packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(half, half), 0x08);
        return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
      } else if constexpr (I == 0)
        return _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16));
      else
        return _mm256_castsi256_ps(_mm256_and_si256(pair, _mm256_set1_epi32(-65536)));
    }
  }
};

#include "edgeq/kernel/skeletons.inl"

}
EDGEQ_INTEGER_KERNELS_OF_SKELETONS(avx2)
EDGEQ_FLOAT_KERNELS_OF_SKELETONS(avx2)
}
EDGEQ_TARGET_END

EDGEQ_TARGET_BEGIN("avx2,fma,f16c,avxvnni")
namespace edgeq::inline EDGEQ_BASELINE {
namespace avx_vnni {

struct Simd : avx2::Simd {
  /// acc += codes . x, four k in each lane; as one line of asm for the reason given in avx512_vnni.
  static EDGEQ_INLINE void dot_4(Int& acc, Int codes, Int x) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(codes), "x"(x));
  }
  template <int, std::size_t Words>
  static EDGEQ_INLINE void dot(Int& acc, const Int (&values)[Words], const Int (&x)[Words]) {
    EDGEQ_FOR (w, Words) dot_4(acc, values[w], x[w]);
  }
};

#include "edgeq/kernel/skeletons.inl"

}
// Float activations gain nothing from vpdpbusd: they run on avx2.
EDGEQ_INTEGER_KERNELS_OF_SKELETONS(avx_vnni)
}
EDGEQ_TARGET_END
#endif
