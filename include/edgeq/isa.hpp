// SPDX-License-Identifier: Apache-2.0
// Instruction sets as tags: a name, and the processor features its kernels execute.
#pragma once
#include "edgeq/cpu.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

namespace isa {
/// AMX tiles of bytes, tdpbsud, with AVX-512 around them. Sapphire Rapids and newer.
struct amx_int8 {
  static constexpr const char* name = "amx_int8";
  static constexpr std::uint32_t features =
      feature_mask(Feature::avx512, Feature::avx512_vnni, Feature::amx_int8);
};
/// AMX tiles of bf16, tdpbf16ps, with AVX-512 around them. Sapphire Rapids and newer.
struct amx_bf16 {
  static constexpr const char* name = "amx_bf16";
  static constexpr std::uint32_t features =
      feature_mask(Feature::avx512, Feature::avx512_vnni, Feature::avx512_bf16, Feature::amx_bf16);
};
/// AVX-512 F/BW/VL/DQ with VNNI: vpdpbusd on 512 bits. Ice Lake, Zen 4 and newer.
struct avx512_vnni {
  static constexpr const char* name = "avx512_vnni";
  static constexpr std::uint32_t features = feature_mask(Feature::avx512, Feature::avx512_vnni);
};
/// AVX-512 with BF16 and VBMI: vdpbf16ps and vpermi2b on 512 bits. Zen 4, Sapphire Rapids and newer.
struct avx512_bf16 {
  static constexpr const char* name = "avx512_bf16";
  static constexpr std::uint32_t features = feature_mask(Feature::avx512, Feature::avx512_bf16);
};
/// AVX2, FMA and F16C with the VEX-encoded vpdpbusd. Alder Lake, Meteor Lake, Zen 5 and newer.
struct avx_vnni {
  static constexpr const char* name = "avx_vnni";
  static constexpr std::uint32_t features = feature_mask(Feature::avx2, Feature::avx_vnni);
};
/// AVX2, FMA and F16C. Haswell, Zen and newer.
struct avx2 {
  static constexpr const char* name = "avx2";
  static constexpr std::uint32_t features = feature_mask(Feature::avx2);
};
/// Advanced SIMD with smmla. Cortex-A510, A710, Neoverse V1 and N2, Apple M2 and newer.
struct neon_i8mm {
  static constexpr const char* name = "neon_i8mm";
  static constexpr std::uint32_t features = feature_mask(Feature::neon, Feature::neon_i8mm);
};
/// Advanced SIMD with sdot. Cortex-A55, A75 and newer, Raspberry Pi 5, Apple silicon.
struct neon_dotprod {
  static constexpr const char* name = "neon_dotprod";
  static constexpr std::uint32_t features = feature_mask(Feature::neon, Feature::neon_dotprod);
};
/// Advanced SIMD of any 64-bit Arm. Cortex-A53, A72, Raspberry Pi 3 and 4.
struct neon {
  static constexpr const char* name = "neon";
  static constexpr std::uint32_t features = feature_mask(Feature::neon);
};
/// Google Highway's best target, where edgeq has no kernel of its own. Highway detects the processor itself.
struct highway {
  static constexpr const char* name = "highway";
  static constexpr std::uint32_t features = 0;
};
/// Plain C++ for any machine: the fallback, and what every other kernel is compared with.
struct generic {
  static constexpr const char* name = "generic";
  static constexpr std::uint32_t features = 0;
};
}

/// A list of instruction sets, best first: the selector takes the first whose kernel exists and runs.
template <class... Isas>
struct IsaList {};

/// Calls macro(isa, ...) for everything that edgeq has kernels for, best first.
#define EDGEQ_FOR_EACH_ISA(macro, ...)                                                            \
  macro(amx_int8, __VA_ARGS__) macro(amx_bf16, __VA_ARGS__) macro(avx512_bf16, __VA_ARGS__)       \
      macro(avx512_vnni, __VA_ARGS__) macro(avx_vnni, __VA_ARGS__) macro(avx2, __VA_ARGS__)       \
          macro(neon_i8mm, __VA_ARGS__) macro(neon_dotprod, __VA_ARGS__) macro(neon, __VA_ARGS__) \
              macro(highway, __VA_ARGS__) macro(generic, __VA_ARGS__)

/// Everything that edgeq has kernels for.
using AllIsas = IsaList<isa::amx_int8, isa::amx_bf16, isa::avx512_bf16, isa::avx512_vnni, isa::avx_vnni,
                        isa::avx2, isa::neon_i8mm, isa::neon_dotprod, isa::neon, isa::highway, isa::generic>;

}
