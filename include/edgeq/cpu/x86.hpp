// SPDX-License-Identifier: Apache-2.0
// The features of an x86 processor, decoded from CPUID and XCR0 by a pure function.
#pragma once
#include "edgeq/cpu/features.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace edgeq::inline EDGEQ_BASELINE {

/// The registers that the CPUID instruction returned, as far as they matter here (Intel SDM volume 2, CPUID).
struct X86Cpuid {
  std::uint32_t max_leaf = 0;  ///< leaf 0, eax: beyond it the answers mean nothing
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_max_subleaf = 0;  ///< leaf 7, subleaf 0, eax
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;  ///< leaf 7, subleaf 1
};

namespace detail {

// The features of CPUID whose registers XCR0 says the system saves.
constexpr std::uint32_t x86_feature_bits(const X86Cpuid& cpuid, std::uint64_t xcr0) {
  if (cpuid.max_leaf < 7) return 0;
  constexpr std::uint64_t ymm = 0x6;         // XCR0: SSE, AVX
  constexpr std::uint64_t zmm = ymm | 0xE0;  // and opmask, upper halves of zmm0-15, zmm16-31
  constexpr std::uint64_t tiles = 3u << 17;  // XTILECFG, XTILEDATA
  constexpr std::uint32_t fma_avx_f16c = 1u << 12 | 1u << 28 | 1u << 29;
  constexpr std::uint32_t f_dq_cd_bw_vl = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  constexpr std::uint32_t amx_tile = 1u << 24;
  const std::uint32_t leaf7_1_eax = cpuid.leaf7_max_subleaf >= 1 ? cpuid.leaf7_1_eax : 0;

  std::uint32_t bits = 0;
  const auto add = [&bits](bool present, Feature feature) {
    if (present) bits |= feature_mask(feature);
  };
  if (all_set(xcr0, ymm)) {
    add(all_set(cpuid.leaf1_ecx, fma_avx_f16c) && all_set(cpuid.leaf7_ebx, 1u << 5), Feature::avx2);
    add(all_set(leaf7_1_eax, 1u << 4), Feature::avx_vnni);
  }
  if (all_set(xcr0, zmm)) {
    add(all_set(cpuid.leaf7_ebx, f_dq_cd_bw_vl), Feature::avx512);
    add(all_set(cpuid.leaf7_ecx, 1u << 11), Feature::avx512_vnni);
    add(all_set(leaf7_1_eax, 1u << 5) && all_set(cpuid.leaf7_ecx, 1u << 1), Feature::avx512_bf16);
  }
  if (all_set(xcr0, tiles)) {
    add(all_set(cpuid.leaf7_edx, amx_tile | 1u << 25), Feature::amx_int8);
    add(all_set(cpuid.leaf7_edx, amx_tile | 1u << 22), Feature::amx_bf16);
  }
  return with_dependencies(bits);
}

}

/// The features of an x86 processor. `read_xcr0()` returns XCR0; it is called only if CPUID says that XGETBV
/// exists (OSXSAVE). `request_tiles()` asks the system for AMX tiles and returns whether it grants them; it
/// is called only if CPUID and XCR0 both have them.
template <class ReadXcr0, class RequestTiles>
constexpr CpuFeatures decode_x86(const X86Cpuid& cpuid, ReadXcr0&& read_xcr0, RequestTiles&& request_tiles) {
  constexpr std::uint32_t osxsave = 1u << 27;
  constexpr std::uint32_t amx = feature_mask(Feature::amx_int8, Feature::amx_bf16);
  const std::uint64_t xcr0 = detail::all_set(cpuid.leaf1_ecx, osxsave) ? std::uint64_t{read_xcr0()} : 0;
  std::uint32_t usable = detail::x86_feature_bits(cpuid, xcr0);
  if ((usable & amx) != 0 && !request_tiles()) usable &= ~amx;
  return {usable, detail::x86_feature_bits(cpuid, ~std::uint64_t{0}) & ~usable};
}

#if defined(__x86_64__)
namespace detail {

inline X86Cpuid read_cpuid() {
  X86Cpuid cpuid;
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  cpuid.max_leaf = static_cast<std::uint32_t>(__get_cpuid_max(0, nullptr));
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) cpuid.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    cpuid.leaf7_max_subleaf = eax;
    cpuid.leaf7_ebx = ebx;
    cpuid.leaf7_ecx = ecx;
    cpuid.leaf7_edx = edx;
  }
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) cpuid.leaf7_1_eax = eax;
  return cpuid;
}

// Inline assembly, as the intrinsic would need a target of its own.
inline std::uint64_t read_xcr0() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

// Linux 5.16 and newer keep the 8 KiB of tile data off until a process asks; the answer holds for all its
// threads, and a process that has it is not asked again. Other systems: not known to us, so no.
inline bool request_amx_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long arch_get_xcomp_perm = 0x1022, arch_req_xcomp_perm = 0x1023, xtiledata = 18;
  std::uint64_t granted = 0;
  if (syscall(SYS_arch_prctl, arch_get_xcomp_perm, &granted) == 0 && (granted >> xtiledata & 1) != 0)
    return true;
  return syscall(SYS_arch_prctl, arch_req_xcomp_perm, xtiledata) == 0;
#else
  return false;
#endif
}

inline CpuFeatures ask_machine() {
  return decode_x86(read_cpuid(), read_xcr0, request_amx_tiles);
}

}
#endif

}
