// SPDX-License-Identifier: Apache-2.0
// Compiler and platform facts: the baseline namespace, target regions, inlining. Nothing here belongs to a
// kernel.
#pragma once

#define EDGEQ_VERSION_MAJOR 0
#define EDGEQ_VERSION_MINOR 1
#define EDGEQ_VERSION_PATCH 0

#if !(defined(__GNUC__) || defined(__clang__))
#error "edgeq: needs GCC 11, Clang 14 (Clang 16 on Arm) or newer"
#endif
#if __cplusplus < 202002L
#error "edgeq: needs C++20"
#endif
#if defined(__i386__) && !defined(__SSE2_MATH__)
#error "edgeq: the x87 unit does not round to single precision; add -msse2 -mfpmath=sse"
#endif

// Everything lives in `namespace edgeq::inline EDGEQ_BASELINE`, which spells the instruction set that the
// translation unit may use everywhere. Two units built with different -march flags therefore never share an
// inline function; without it the linker may keep the AVX-512 body for the unit that was built for any
// x86-64, which then dies of SIGILL.
#if defined(__AVX512F__)
#define EDGEQ_BASELINE_ISA x86_v4
#elif defined(__AVX2__)
#define EDGEQ_BASELINE_ISA x86_v3
#elif defined(__SSE4_2__)
#define EDGEQ_BASELINE_ISA x86_v2
#elif defined(__x86_64__)
#define EDGEQ_BASELINE_ISA x86_v1
#elif defined(__ARM_FEATURE_SVE2)
#define EDGEQ_BASELINE_ISA arm_sve2
#elif defined(__ARM_FEATURE_SVE)
#define EDGEQ_BASELINE_ISA arm_sve
#elif defined(__ARM_FEATURE_DOTPROD)
#define EDGEQ_BASELINE_ISA arm_dotprod
#elif defined(__aarch64__)
#define EDGEQ_BASELINE_ISA arm_v8
#else
#define EDGEQ_BASELINE_ISA scalar
#endif

// The components edgeq::highway and edgeq::xsimd change tables and functions, so units with and without them
// must not share those either.
#define EDGEQ_CONCATENATE_(a, b, c) a##b##c
#define EDGEQ_CONCATENATE(a, b, c) EDGEQ_CONCATENATE_(a, b, c)
#if defined(EDGEQ_HAS_HIGHWAY)
#define EDGEQ_BASELINE_HIGHWAY _highway
#else
#define EDGEQ_BASELINE_HIGHWAY
#endif
#if defined(EDGEQ_HAS_XSIMD)
#define EDGEQ_BASELINE_XSIMD _xsimd
#else
#define EDGEQ_BASELINE_XSIMD
#endif
#define EDGEQ_BASELINE EDGEQ_CONCATENATE(EDGEQ_BASELINE_ISA, EDGEQ_BASELINE_HIGHWAY, EDGEQ_BASELINE_XSIMD)

// IEEE arithmetic between BEGIN and END, even under -ffast-math: the numerics contract depends on it.
#define EDGEQ_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define EDGEQ_PRECISE_BEGIN         \
  EDGEQ_PRAGMA(float_control(push)) \
  EDGEQ_PRAGMA(float_control(precise, on)) EDGEQ_PRAGMA(clang fp contract(off))
#define EDGEQ_PRECISE_END EDGEQ_PRAGMA(float_control(pop))
#else
#define EDGEQ_PRECISE_BEGIN      \
  EDGEQ_PRAGMA(GCC push_options) \
  EDGEQ_PRAGMA(GCC optimize("no-fast-math")) EDGEQ_PRAGMA(GCC optimize("fp-contract=off"))
#define EDGEQ_PRECISE_END EDGEQ_PRAGMA(GCC pop_options)
#endif

// A target region: every function defined between BEGIN and END is compiled for `features`, whatever the
// command line says, and precisely. Regions stand outside namespaces; nothing but kernel skeletons (.inl) may
// be included inside one, and no vector type leaves one. GCC 12 warns about its own AVX-512 headers when they
// are inlined into a region. UndefinedBehaviorSanitizer leaves regions alone: its checks of every unrolled
// access take the compiler minutes; AddressSanitizer does not.
#if defined(__clang__)
#define EDGEQ_TARGET_BEGIN(features)                                                                 \
  EDGEQ_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))         \
  EDGEQ_PRAGMA(clang attribute push(__attribute__((no_sanitize("undefined"))), apply_to = function)) \
  EDGEQ_PRECISE_BEGIN
#define EDGEQ_TARGET_END            \
  EDGEQ_PRECISE_END                 \
  EDGEQ_PRAGMA(clang attribute pop) \
  EDGEQ_PRAGMA(clang attribute pop)
#else
#define EDGEQ_TARGET_BEGIN(features)                     \
  EDGEQ_PRECISE_BEGIN                                    \
  EDGEQ_PRAGMA(GCC target(features))                     \
  EDGEQ_PRAGMA(GCC diagnostic push)                      \
  EDGEQ_PRAGMA(GCC diagnostic ignored "-Wuninitialized") \
  EDGEQ_PRAGMA(GCC diagnostic ignored "-Wmaybe-uninitialized")
#define EDGEQ_TARGET_END EDGEQ_PRAGMA(GCC diagnostic pop) EDGEQ_PRECISE_END
#endif

// Extensions of 64-bit Arm in regions. GCC 12 refuses "+dotprod" on a base of Armv8.0; where the command line
// asks for more than that, a region must not ask for less, or baseline functions could not be inlined into
// it. Clang before 16 hides the intrinsics unless the command line has them.
#if defined(__clang__) || defined(__ARM_FEATURE_DOTPROD)
#define EDGEQ_ARM_TARGET(extension) "+" extension
#else
#if defined(__ARM_FEATURE_CRYPTO)
#define EDGEQ_ARM_CRYPTO "+crypto"
#else
#define EDGEQ_ARM_CRYPTO
#endif
#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#define EDGEQ_ARM_FP16 "+fp16"
#else
#define EDGEQ_ARM_FP16
#endif
#if defined(__ARM_FEATURE_SVE)
#define EDGEQ_ARM_SVE "+sve"
#else
#define EDGEQ_ARM_SVE
#endif
#define EDGEQ_ARM_TARGET(extension) \
  "arch=armv8.2-a" EDGEQ_ARM_CRYPTO EDGEQ_ARM_FP16 EDGEQ_ARM_SVE "+" extension
#endif
#if defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16 || defined(__ARM_FEATURE_DOTPROD))
#define EDGEQ_HAS_ARM_TARGETS 1
#endif

#define EDGEQ_INLINE inline __attribute__((always_inline))
#define EDGEQ_INLINE_LAMBDA __attribute__((always_inline))

// EDGEQ_FOR(i, count): a loop over a compile-time count that must disappear. Accumulator arrays stay in
// registers only if the loops over them are gone, and GCC at -O2 keeps such loops unless told (x2.2 on the
// AVX-512 kernels).
#if defined(__clang__)
#define EDGEQ_FOR(i, count) _Pragma("unroll") for (std::size_t i = 0; i < (count); ++i)
#else
#define EDGEQ_FOR(i, count) _Pragma("GCC unroll 16") for (std::size_t i = 0; i < (count); ++i)
#endif
