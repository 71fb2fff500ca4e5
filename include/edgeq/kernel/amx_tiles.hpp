// SPDX-License-Identifier: Apache-2.0
// The AMX instructions, and the only place that spells them.
//
// Inline assembly, because GCC's intrinsics for tile loads name no memory operand: GCC then deletes the
// stores that filled a buffer as dead when the buffer is filled again after the load. Every wrapper that
// touches memory clobbers it here. No -m flag and no target region is needed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "edgeq/config.hpp"

#if defined(__x86_64__)
namespace edgeq::inline EDGEQ_BASELINE {
namespace amx {

/// The 64 bytes that LDTILECFG reads (Intel SDM volume 2): palette 1 has eight tiles of at most 16 rows of 64
/// bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  constexpr void set(std::size_t tile, std::size_t row_count, std::size_t bytes) noexcept {
    rows[tile] = static_cast<std::uint8_t>(row_count);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }
};
static_assert(sizeof(TileConfig) == 64);

/// Holds a tile configuration while it lives. Whatever configuration another library had loaded is loaded
/// again at the end, its tiles zeroed; without one, the tiles are released, so that the system need not save
/// them.
class TileSession {
 public:
  explicit TileSession(const TileConfig& config) noexcept {
    asm volatile("sttilecfg %0" : "=m"(saved_));
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  ~TileSession() {
    if (saved_.palette != 0)
      asm volatile("ldtilecfg %0" : : "m"(saved_) : "memory");
    else
      asm volatile("tilerelease" : : : "memory");
  }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;

 private:
  TileConfig saved_;
};

template <int Tile>
EDGEQ_INLINE void zero() noexcept {
  asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
}
/// Row i of the tile from base + i * stride.
template <int Tile>
EDGEQ_INLINE void load(const void* base, std::size_t stride) noexcept {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(Tile), "r"(base), "r"(stride) : "memory");
}
template <int Tile>
EDGEQ_INLINE void store(void* base, std::size_t stride) noexcept {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(Tile), "r"(base), "r"(stride) : "memory");
}
/// C += A . B of int8: A signed [rows, 4 k], B unsigned in rows of 4 k of each column.
template <int C, int A, int B>
EDGEQ_INLINE void dot_signed_unsigned() noexcept {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
}
/// C += A . B of bf16: A [rows, 2 k], B in rows of 2 k of each column.
template <int C, int A, int B>
EDGEQ_INLINE void dot_bf16() noexcept {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
}

}
}
#endif
