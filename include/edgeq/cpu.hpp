// SPDX-License-Identifier: Apache-2.0
// What this processor and its operating system let a program execute: a plain value, decoded by pure
// functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "edgeq/config.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace edgeq::inline EDGEQ_BASELINE {

/// One bit for each group of instructions that a kernel may need. Masks are the bitwise or of these values.
enum class Feature : std::uint32_t {
  avx2 = 1u << 0,          ///< AVX2, FMA and F16C, and the system saves the ymm registers
  avx_vnni = 1u << 1,      ///< vpdpbusd on ymm registers without AVX-512
  avx512 = 1u << 2,        ///< AVX-512 F, BW, VL, DQ and CD, and the system saves the zmm registers
  avx512_vnni = 1u << 3,   ///< vpdpbusd on zmm registers
  avx512_bf16 = 1u << 4,   ///< vdpbf16ps and vpermi2b; Cooper Lake, which lacks the latter, counts as without
  amx_int8 = 1u << 5,      ///< AMX tiles and tdpbusd, and the system has granted the tile data
  amx_bf16 = 1u << 6,      ///< AMX tiles and tdpbf16ps, and the system has granted the tile data
  neon = 1u << 7,          ///< Advanced SIMD of Armv8-A
  neon_dotprod = 1u << 8,  ///< sdot, udot
  neon_i8mm = 1u << 9,     ///< smmla, usdot
  neon_bf16 = 1u << 10,    ///< bfdot, bfmmla
  sve = 1u << 11,          ///< the scalable vectors of the first version; says nothing of dotprod or i8mm
};

/// The mask of one or more features.
template <class... Features>
constexpr std::uint32_t feature_mask(Features... features) {
  return (std::uint32_t{0} | ... | static_cast<std::uint32_t>(features));
}

namespace detail {

struct FeatureEntry {
  Feature feature;
  std::string_view name;
  std::uint32_t needs;  // the feature is of no use without these
};

// A feature stands below all that it needs, so one pass from the top settles the dependencies.
inline constexpr FeatureEntry feature_table[] = {
    {Feature::avx2, "avx2", 0},
    {Feature::avx_vnni, "avx_vnni", feature_mask(Feature::avx2)},
    {Feature::avx512, "avx512", feature_mask(Feature::avx2)},
    {Feature::avx512_vnni, "avx512_vnni", feature_mask(Feature::avx512)},
    {Feature::avx512_bf16, "avx512_bf16", feature_mask(Feature::avx512)},
    {Feature::amx_int8, "amx_int8", feature_mask(Feature::avx512)},  // zmm registers fill the tiles
    {Feature::amx_bf16, "amx_bf16", feature_mask(Feature::avx512)},
    {Feature::neon, "neon", 0},
    {Feature::neon_dotprod, "neon_dotprod", feature_mask(Feature::neon)},
    {Feature::neon_i8mm, "neon_i8mm", feature_mask(Feature::neon)},
    {Feature::neon_bf16, "neon_bf16", feature_mask(Feature::neon)},
    {Feature::sve, "sve", feature_mask(Feature::neon)},
};

}

/// `mask` less every feature that needs one which is not in `mask`.
constexpr std::uint32_t with_dependencies(std::uint32_t mask) {
  for (const detail::FeatureEntry& entry : detail::feature_table)
    if ((mask & entry.needs) != entry.needs) mask &= ~feature_mask(entry.feature);
  return mask;
}

/// The feature's name as `parse_feature_list` reads it.
constexpr std::string_view feature_name(Feature feature) {
  for (const detail::FeatureEntry& entry : detail::feature_table)
    if (entry.feature == feature) return entry.name;
  return "unknown";
}

/// The mask of the features named in `list`, separated by commas or spaces. Unknown names are ignored: a list
/// written for a newer version must not stop an older one.
constexpr std::uint32_t parse_feature_list(std::string_view list) {
  std::uint32_t mask = 0;
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(", ");
    const std::string_view name = list.substr(0, end);
    for (const detail::FeatureEntry& entry : detail::feature_table)
      if (entry.name == name) mask |= feature_mask(entry.feature);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return mask;
}

/// The names of the features in `mask`, separated by ", ", for messages.
inline std::string feature_list(std::uint32_t mask) {
  std::string list;
  for (const detail::FeatureEntry& entry : detail::feature_table) {
    if ((mask & feature_mask(entry.feature)) == 0) continue;
    if (!list.empty()) list += ", ";
    list += entry.name;
  }
  return list;
}

/// The features a program may use. Copy it, mask it, pass it: selection reads this value and nothing else, so
/// a test sees every machine by making one.
struct CpuFeatures {
  std::uint32_t bits = 0;
  /// Features that the processor has, but that the operating system refuses or `without` has taken away.
  std::uint32_t withheld = 0;

  /// True if every feature of `mask` may be used.
  constexpr bool has(std::uint32_t mask) const { return (bits & mask) == mask; }
  constexpr bool has(Feature feature) const { return has(feature_mask(feature)); }

  /// The features of `mask` that may not be used.
  constexpr std::uint32_t missing(std::uint32_t mask) const { return mask & ~bits; }

  /// A machine without the features of `mask` and without those that need them.
  constexpr CpuFeatures without(std::uint32_t mask) const {
    const std::uint32_t kept = with_dependencies(bits & ~mask);
    return {kept, withheld | (bits & ~kept)};
  }
  constexpr CpuFeatures without(Feature feature) const { return without(feature_mask(feature)); }

  /// Asks the processor and the operating system, then takes away the features that the environment variable
  /// EDGEQ_DISABLE lists ("amx_int8,avx512_vnni"). Keeps nothing: every call asks again, from any thread. On
  /// Linux it requests the permission to use AMX tiles for the whole process if there are any.
  static CpuFeatures detect();

  friend constexpr bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};

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

constexpr bool all_set(std::uint64_t value, std::uint64_t mask) {
  return (value & mask) == mask;
}

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

/// The features of a 64-bit Arm processor from the words that Linux passes as AT_HWCAP and AT_HWCAP2.
constexpr CpuFeatures decode_arm(std::uint64_t hwcap, std::uint64_t hwcap2) {
  std::uint32_t bits = 0;
  if (detail::all_set(hwcap, 1u << 1)) bits |= feature_mask(Feature::neon);           // ASIMD
  if (detail::all_set(hwcap, 1u << 20)) bits |= feature_mask(Feature::neon_dotprod);  // ASIMDDP
  if (detail::all_set(hwcap, 1u << 22)) bits |= feature_mask(Feature::sve);           // SVE
  if (detail::all_set(hwcap2, 1u << 13)) bits |= feature_mask(Feature::neon_i8mm);    // I8MM
  if (detail::all_set(hwcap2, 1u << 14)) bits |= feature_mask(Feature::neon_bf16);    // BF16
  return {with_dependencies(bits), 0};
}

namespace detail {

#if defined(__x86_64__)

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

#elif defined(__aarch64__) && defined(__linux__)

inline CpuFeatures ask_machine() {
  return decode_arm(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}

#elif defined(__aarch64__) && defined(__APPLE__)

inline CpuFeatures ask_machine() {
  CpuFeatures features{feature_mask(Feature::neon), 0};
  const auto add = [&features](const char* name, Feature feature) {
    int value = 0;
    std::size_t size = sizeof value;
    if (sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0)
      features.bits |= feature_mask(feature);
  };
  add("hw.optional.arm.FEAT_DotProd", Feature::neon_dotprod);
  add("hw.optional.arm.FEAT_I8MM", Feature::neon_i8mm);
  add("hw.optional.arm.FEAT_BF16", Feature::neon_bf16);
  return features;
}

#elif defined(__aarch64__)

inline CpuFeatures ask_machine() {
  return {feature_mask(Feature::neon), 0};
}

#else

inline CpuFeatures ask_machine() {
  return {};
}

#endif

}

inline CpuFeatures CpuFeatures::detect() {
  const char* disabled = std::getenv("EDGEQ_DISABLE");
  return detail::ask_machine().without(disabled != nullptr ? parse_feature_list(disabled) : 0);
}

}
