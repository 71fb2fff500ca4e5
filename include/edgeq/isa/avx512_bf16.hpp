// SPDX-License-Identifier: Apache-2.0
// AVX-512 with BF16 and VBMI: vdpbf16ps on codes that a permutation turns into bf16.
#pragma once
#include "edgeq/isa/avx512_vnni.hpp"
#include "edgeq/kernel/bf16_table.hpp"

#if defined(__x86_64__)

EDGEQ_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vbmi,avx512bf16,avx2,fma,f16c")
namespace edgeq::inline EDGEQ_BASELINE {
namespace avx512_bf16 {

struct Simd : avx512_vnni::Simd {
  /// acc += weights . x, two k in each lane; as one line of asm for the reason given in avx512_vnni.
  static EDGEQ_INLINE void dot_2(Float& acc, Int weights, Int x) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(weights), "v"(x));
  }
  static EDGEQ_INLINE float reduce_add(Float a) { return _mm512_reduce_add_ps(a); }
  using avx512_vnni::Simd::reduce_add;

  /// The upper halves of 16 lanes; Interleaved exchanges the middle two of each four.
  template <bool Interleaved>
  static EDGEQ_INLINE void store_bf16(std::uint16_t* p, Int bits) {
    __m256i words = _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
    if constexpr (Interleaved) words = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(words, 0xD8), 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), words);
  }
};

#include "edgeq/kernel/codes.inl"

/// 16-bit weights are bf16 already.
template <class Format>
struct Bf16Decoder {
  static EDGEQ_INLINE void load() {}
  static EDGEQ_INLINE void decode(const std::uint8_t* line, __m512i (&pair)[1]) {
    pair[0] = Simd::load_codes(line);
  }
};

/// Nibbles: vpermw looks up the low five bits of every 16-bit word in 32 entries; sixteen values twice make
/// the fifth bit, the neighbour's, immaterial. Shifts bring k 0 and 2, 1 and 3, 4 and 6, 5 and 7 down.
template <class Format>
requires(Format::Codec::bits == 4) struct Bf16Decoder<Format> {
  __m512i table;
  EDGEQ_INLINE void load() { table = _mm512_load_si512(nibble_table<Format>.words); }
  EDGEQ_INLINE void decode(const std::uint8_t* packed, __m512i (&pair)[4]) const {
    const __m512i line = Simd::load_codes(packed);
    pair[0] = _mm512_permutexvar_epi16(line, table);
    pair[1] = _mm512_permutexvar_epi16(_mm512_srli_epi16(line, 8), table);
    pair[2] = _mm512_permutexvar_epi16(_mm512_srli_epi16(line, 4), table);
    pair[3] = _mm512_permutexvar_epi16(_mm512_srli_epi16(line, 12), table);
  }
};

/// Six bits: vpermi2w looks up the low six bits of every 16-bit word in 64 entries. Bytes of codes hold k 0
/// and 2 in the lower halves of words, 1 and 3 in the upper ones.
template <class Format>
requires(Format::Codec::bits == 6) struct Bf16Decoder<Format> {
  __m512i low, high;
  EDGEQ_INLINE void load() {
    low = _mm512_load_si512(six_bit_table<Format>.words);
    high = _mm512_load_si512(six_bit_table<Format>.words + 32);
  }
  EDGEQ_INLINE void decode(const std::uint8_t* packed, __m512i (&pair)[8]) const {
    __m512i codes[4];
    unpack_codes<typename Format::Codec>(packed, codes);
    EDGEQ_FOR (w, 4) {
      pair[2 * w] = _mm512_permutex2var_epi16(low, codes[w], high);
      pair[2 * w + 1] = _mm512_permutex2var_epi16(low, _mm512_srli_epi16(codes[w], 8), high);
    }
  }
};

/// Bytes: vpermi2b looks up the low seven bits of every byte in 128 entries, once for the lower and once
/// for the upper half of a bf16; the halves meet as k 0 and 2, 1 and 3. An 8-bit float's eighth bit is its
/// sign; for integers it chooses between two tables.
template <class Format>
requires(Format::Codec::bits == 8) struct Bf16Decoder<Format> {
  static constexpr bool is_signed = codec::FloatCodec<typename Format::Codec>;
  static constexpr std::size_t registers = is_signed ? 2 : 4;
  __m512i low[registers], high[registers];
  EDGEQ_INLINE void load() {
    EDGEQ_FOR (i, registers) {
      low[i] = _mm512_load_si512(byte_table<Format>.low + i * 64);
      high[i] = _mm512_load_si512(byte_table<Format>.high + i * 64);
    }
  }
  EDGEQ_INLINE void decode(const std::uint8_t* packed, __m512i (&pair)[2]) const {
    const __m512i line = Simd::load_codes(packed);
    __m512i lower = _mm512_permutex2var_epi8(low[0], line, low[1]);
    __m512i upper = _mm512_permutex2var_epi8(high[0], line, high[1]);
    constexpr int a_or_b_and_c = 0xF8;
    if constexpr (is_signed) {
      upper = _mm512_ternarylogic_epi32(upper, line, _mm512_set1_epi8(-128), a_or_b_and_c);
    } else {
      const __mmask64 from_128 = _mm512_movepi8_mask(line);
      lower = _mm512_mask_blend_epi8(from_128, lower, _mm512_permutex2var_epi8(low[2], line, low[3]));
      upper = _mm512_mask_blend_epi8(from_128, upper, _mm512_permutex2var_epi8(high[2], line, high[3]));
    }
    pair[0] = _mm512_ternarylogic_epi32(_mm512_slli_epi16(upper, 8), lower, _mm512_set1_epi16(0x00FF),
                                        a_or_b_and_c);
    pair[1] =
        _mm512_ternarylogic_epi32(_mm512_srli_epi16(lower, 8), upper, _mm512_set1_epi16(-256), a_or_b_and_c);
  }
};

#include "edgeq/kernel/group_header.inl"
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// Over these.
#include "edgeq/kernel/bf16_scaling.inl"
#include "edgeq/kernel/blocked.inl"

// Over all of these.
#include "edgeq/kernel/panel_bf16.inl"

}

/// Weights that bf16 holds exactly; others meet bf16 activations in float arithmetic.
template <class Format>
requires Bf16Exact<Format>
struct MicroKernel<Format, Bf16, isa::avx512_bf16> : avx512_bf16::PanelBf16<Format> {
  static constexpr std::size_t min_m = 1;
};
}
EDGEQ_TARGET_END
#endif
