// SPDX-License-Identifier: Apache-2.0
// The tile kernels with plain C++ in place of AVX-512: the skeletons and the AMX instructions are the
// library's own, so that a machine without either runs them under the emulator.
#pragma once
#include "edgeq/linear.hpp"

EDGEQ_PRECISE_BEGIN
namespace edgeq::inline EDGEQ_BASELINE {

namespace isa {
struct portable_tiles {
  static constexpr const char* name = "portable_tiles";
  static constexpr std::uint32_t features = 0;
};
}

namespace portable_tiles {

struct Simd : generic::Simd {
  using generic::Simd::reduce_add;
  static float reduce_add(const Float& a) noexcept {
    float sum = 0.0f;
    for (const float v : a.lane) sum += v;
    return sum;
  }
  /// Stores of 64 bytes by kernels in this thread since the count was set to 0.
  static inline thread_local std::uint64_t stores = 0;

  static void store_codes(std::uint8_t* p, const Int& a) noexcept {
    ++stores;
    __builtin_memcpy(p, a.lane, sizeof(a.lane));
  }
  template <StoredFloat T>
  static void store_stored(void* p, const Float& a) noexcept {
    ++stores;
    generic::Simd::store_stored<T>(p, a);
  }
  template <bool Interleaved>
  static void store_bf16(std::uint16_t* p, const Int& bits) noexcept {
    constexpr std::size_t order[4] = {0, Interleaved ? 2 : 1, Interleaved ? 1 : 2, 3};
    for (std::size_t i = 0; i < lanes; ++i)
      p[i] =
          static_cast<std::uint16_t>(static_cast<std::uint32_t>(bits.lane[i / 4 * 4 + order[i % 4]]) >> 16);
  }
};

/// Pairs of bf16 by the tables of the vector kernels, code by code.
template <class Format>
struct Bf16Decoder {
  static constexpr std::size_t pairs = Format::k_per_line / 2;
  void load() noexcept {}
  void decode(const std::uint8_t* line, Simd::Int (&pair)[pairs]) const noexcept {
    if constexpr (pairs == 1) {
      pair[0] = Simd::load_codes(line);
    } else {
      // Pairs are k 0 and 2, 1 and 3 of each four.
      for (std::size_t p = 0; p < pairs; ++p)
        for (std::size_t lane = 0; lane < Simd::lanes; ++lane) {
          const auto value = [&](std::size_t k) {
            return std::uint32_t{bf16_of_code<Format>(Format::Codec::take(line, lane, k))};
          };
          const std::size_t k = p / 2 * 4 + p % 2;
          pair[p].lane[lane] = static_cast<std::int32_t>(value(k) | value(k + 2) << 16);
        }
    }
  }
};

#include "edgeq/kernel/codes.inl"
#include "edgeq/kernel/group_header.inl"
#include "edgeq/kernel/panel_walk.inl"
#include "edgeq/kernel/prepare_rows.inl"

// Over these.
#include "edgeq/kernel/bf16_scaling.inl"
#include "edgeq/kernel/blocked.inl"
#include "edgeq/kernel/integer_scaling.inl"

// Over all of these.
#include "edgeq/kernel/bf16_core.inl"
#include "edgeq/kernel/integer_core.inl"
#include "edgeq/kernel/tile_product.inl"

}

template <WeightFormat Format, ActivationPolicy Activation>
requires(
    Activation::is_integer&& Format::is_integer) struct MicroKernel<Format, Activation, isa::portable_tiles>
    : portable_tiles::TileProduct<portable_tiles::IntegerCore<Format, Activation>> {
  static constexpr std::size_t min_m = amx::min_rows;
};
template <class Format>
requires Bf16Exact<Format>
struct MicroKernel<Format, Bf16, isa::portable_tiles>
    : portable_tiles::TileProduct<portable_tiles::Bf16Core<Format>> {
  static constexpr std::size_t min_m = amx::min_rows;
};
}
EDGEQ_PRECISE_END
