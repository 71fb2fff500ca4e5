// SPDX-License-Identifier: Apache-2.0
// One tile register, and the sums of products that the TDP instructions add to one.
#pragma once
#include <cstdint>

#include "support/amx/instruction.hpp"

namespace amx_emulator {

/// Palette 1, the only one that exists (CPUID leaf 1DH).
inline constexpr int tile_count = 8, tile_rows = 16, tile_row_bytes = 64;

struct alignas(64) Tile {
  std::uint8_t row[tile_rows][tile_row_bytes];
};

struct TileShape {
  int rows, row_bytes;
};

/// C [rows, columns] += A [rows, k] · B [k, columns], where 4 bytes of k stand together: A holds them at
/// [row][4 k], B at [k][4 column], C has 32 bits a value. `a` is the shape of A, `c` that of C.
///
/// Bytes: exact, modulo 2^32. bf16: the products of even k and those of odd k are added up in two chains of
/// float32 FMAs from +0, each chain in the order of k; the two sums are added, then that to C. Each step
/// rounds to nearest even, and takes and gives zero for subnormals, whatever MXCSR says (SDM volume 2,
/// TDPBF16PS).
void add_product(Operation operation, Tile& c_tile, const Tile& a_tile, const Tile& b_tile, TileShape c,
                 TileShape a);

}
