// SPDX-License-Identifier: Apache-2.0
// The features of a 64-bit Arm processor, decoded by pure functions from what its operating system tells.
#pragma once
#include "edgeq/cpu/features.hpp"
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace edgeq::inline EDGEQ_BASELINE {

namespace detail {

// Bits of AT_HWCAP and AT_HWCAP2 as arch/arm64/include/uapi/asm/hwcap.h of Linux numbers them.
inline constexpr std::uint64_t hwcap_asimd = 1u << 1, hwcap_asimddp = 1u << 20, hwcap_sve = 1u << 22;
inline constexpr std::uint64_t hwcap2_svei8mm = 1u << 9, hwcap2_svebf16 = 1u << 12, hwcap2_i8mm = 1u << 13,
                               hwcap2_bf16 = 1u << 14;

}

/// The features of a 64-bit Arm processor from the words that Linux passes as AT_HWCAP and AT_HWCAP2 and from
/// the bits of a scalable vector, which mean nothing without SVE.
///
/// Cores may differ; the words do not. Linux compares the cores as it starts them and reports what the least
/// of them has (the "sanitised" values of arch/arm64/kernel/cpufeature.c), and gives SVE the vector lengths
/// that all of them have, so a thread may move to any core.
constexpr CpuFeatures decode_arm(std::uint64_t hwcap, std::uint64_t hwcap2, std::size_t sve_bits) {
  std::uint32_t bits = 0;
  const auto add = [&bits](bool present, Feature feature) {
    if (present) bits |= feature_mask(feature);
  };
  add(detail::all_set(hwcap, detail::hwcap_asimd), Feature::neon);
  add(detail::all_set(hwcap, detail::hwcap_asimddp), Feature::neon_dotprod);
  add(detail::all_set(hwcap2, detail::hwcap2_i8mm), Feature::neon_i8mm);
  add(detail::all_set(hwcap2, detail::hwcap2_bf16), Feature::neon_bf16);
  add(detail::all_set(hwcap, detail::hwcap_sve), Feature::sve);
  add(detail::all_set(hwcap2, detail::hwcap2_svei8mm), Feature::sve_i8mm);
  add(detail::all_set(hwcap2, detail::hwcap2_svebf16), Feature::sve_bf16);
  add(sve_bits >= 512, Feature::sve_512);
  return {with_dependencies(bits), 0};
}

/// The features of Apple's processors, none of which has SVE. `has(name)` returns whether sysctl knows the
/// integer of this name ("Determining Instruction Set Characteristics" of Apple's developer documentation)
/// and it is not 0.
template <class Has>
constexpr CpuFeatures decode_apple_arm(Has&& has) {
  const auto bit = [&has](const char* name, std::uint64_t value) { return has(name) ? value : 0; };
  return decode_arm(detail::hwcap_asimd | bit("hw.optional.arm.FEAT_DotProd", detail::hwcap_asimddp),
                    bit("hw.optional.arm.FEAT_I8MM", detail::hwcap2_i8mm) |
                        bit("hw.optional.arm.FEAT_BF16", detail::hwcap2_bf16),
                    0);
}

#if defined(__aarch64__)
namespace detail {

#if defined(__linux__)

// The vector length is the calling thread's, and that of all threads it starts; 0 where the system says none.
inline std::size_t sve_bits() {
#if defined(PR_SVE_GET_VL)
  const int length = prctl(PR_SVE_GET_VL);
  return length < 0 ? 0 : static_cast<std::size_t>(length & PR_SVE_VL_LEN_MASK) * 8;
#else
  return 0;
#endif
}

// Android is a Linux here: getauxval is in its C library from version 4.3 (API 18) on.
inline CpuFeatures ask_machine() {
  const std::uint64_t hwcap = getauxval(AT_HWCAP);
  return decode_arm(hwcap, getauxval(AT_HWCAP2), all_set(hwcap, hwcap_sve) ? sve_bits() : 0);
}

#elif defined(__APPLE__)

inline CpuFeatures ask_machine() {
  return decode_apple_arm([](const char* name) {
    int value = 0;
    std::size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
  });
}

#else

inline CpuFeatures ask_machine() {
  return {feature_mask(Feature::neon), 0};
}

#endif

}
#endif

}
