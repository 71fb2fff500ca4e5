// SPDX-License-Identifier: Apache-2.0
// AMX: tiles for many rows, AVX-512 for what surrounds them. Verified in emulation, never timed.
#pragma once
#include "edgeq/isa/avx512_bf16.hpp"
#include "edgeq/isa/avx512_vnni.hpp"
#include "edgeq/kernel/amx_tiles.hpp"

#if defined(__x86_64__)

namespace edgeq::inline EDGEQ_BASELINE {
namespace amx {
/// Rows from which tiles are chosen. Published throughputs (a product every 16 cycles, its tile loads 8, two
/// vpdpbusd a cycle) put the balance of one product of 16 x 16 x 64 against in-register unpacking near 4 to 8
/// rows; a model, not a measurement.
inline constexpr std::size_t min_rows = 8;
}
}

EDGEQ_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
namespace edgeq::inline EDGEQ_BASELINE {
namespace amx_int8 {

using avx512_vnni::Simd;

#include "edgeq/kernel/codes.inl"
#include "edgeq/kernel/group_header.inl"
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// Over these.
#include "edgeq/kernel/blocked.inl"
#include "edgeq/kernel/integer_scaling.inl"

// Over all of these.
#include "edgeq/kernel/integer_core.inl"
#include "edgeq/kernel/tile_product.inl"

}
template <WeightFormat Format, ActivationPolicy Activation>
requires(Activation::is_integer&& Format::is_integer) struct MicroKernel<Format, Activation, isa::amx_int8>
    : amx_int8::TileProduct<amx_int8::IntegerCore<Format, Activation>> {
  static constexpr std::size_t min_m = amx::min_rows;
};
}
EDGEQ_TARGET_END

EDGEQ_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vbmi,avx512bf16,avx2,fma,f16c")
namespace edgeq::inline EDGEQ_BASELINE {
namespace amx_bf16 {

using avx512_bf16::Bf16Decoder;
using avx512_bf16::Simd;

#include "edgeq/kernel/codes.inl"
#include "edgeq/kernel/group_header.inl"
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// Over these.
#include "edgeq/kernel/bf16_scaling.inl"
#include "edgeq/kernel/blocked.inl"

// Over all of these.
#include "edgeq/kernel/bf16_core.inl"
#include "edgeq/kernel/tile_product.inl"

}
template <class Format>
requires Bf16Exact<Format>
struct MicroKernel<Format, Bf16, isa::amx_bf16> : amx_bf16::TileProduct<amx_bf16::Bf16Core<Format>> {
  static constexpr std::size_t min_m = amx::min_rows;
};
}
EDGEQ_TARGET_END
#endif
