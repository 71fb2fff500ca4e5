// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the TDP instructions.
#include "support/amx/tile.hpp"

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstring>

namespace amx_emulator {

namespace {

template <class Left, class Right>
void add_product_of_bytes(Tile& c_tile, const Tile& a_tile, const Tile& b_tile, TileShape c, TileShape a) {
  const auto row_bytes = static_cast<std::size_t>(c.row_bytes);
  for (int m = 0; m < c.rows; ++m) {
    std::uint32_t sums[tile_row_bytes / 4];
    std::memcpy(sums, c_tile.row[m], row_bytes);
    for (int k = 0; k < a.row_bytes; ++k) {
      const int left = static_cast<Left>(a_tile.row[m][k]);
      const std::uint8_t* right = b_tile.row[k / 4] + k % 4;
      for (int n = 0; n < c.row_bytes / 4; ++n)
        sums[n] += static_cast<std::uint32_t>(left * static_cast<Right>(right[4 * n]));
    }
    std::memcpy(c_tile.row[m], sums, row_bytes);
  }
}

// Rounds to nearest even, with subnormals as zero, without exceptions, while it lives.
class TileRounding {
 public:
  TileRounding() : saved_(_mm_getcsr()) { _mm_setcsr(0x9FC0); }  // FTZ, all masked, DAZ
  ~TileRounding() { _mm_setcsr(saved_); }
  TileRounding(const TileRounding&) = delete;

 private:
  unsigned saved_;
};

struct Pair {
  float even, odd;

  explicit Pair(const std::uint8_t* bytes) {
    std::uint32_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    even = std::bit_cast<float>(bits << 16);
    odd = std::bit_cast<float>(bits & 0xFFFF0000u);
  }
};

__attribute__((target("fma"))) inline float multiply_add(float x, float y, float sum) {
  return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(x), _mm_set_ss(y), _mm_set_ss(sum)));
}

// A function of its own, so that no arithmetic moves out of the life of a TileRounding.
__attribute__((target("fma"), noinline)) void add_product_of_bf16(Tile& c_tile, const Tile& a_tile,
                                                                  const Tile& b_tile, TileShape c,
                                                                  TileShape a) {
  for (int m = 0; m < c.rows; ++m)
    for (int n = 0; n < c.row_bytes / 4; ++n) {
      float even = 0, odd = 0, sum;
      for (int k = 0; k < a.row_bytes / 4; ++k) {
        const Pair left(a_tile.row[m] + 4 * k), right(b_tile.row[k] + 4 * n);
        even = multiply_add(left.even, right.even, even);
        odd = multiply_add(left.odd, right.odd, odd);
      }
      std::memcpy(&sum, c_tile.row[m] + 4 * n, sizeof sum);
      sum += even + odd;
      std::memcpy(c_tile.row[m] + 4 * n, &sum, sizeof sum);
    }
}

}

void add_product(Operation operation, Tile& c_tile, const Tile& a_tile, const Tile& b_tile, TileShape c,
                 TileShape a) {
  switch (operation) {
    case Operation::tdpbssd:
      return add_product_of_bytes<std::int8_t, std::int8_t>(c_tile, a_tile, b_tile, c, a);
    case Operation::tdpbsud:
      return add_product_of_bytes<std::int8_t, std::uint8_t>(c_tile, a_tile, b_tile, c, a);
    case Operation::tdpbusd:
      return add_product_of_bytes<std::uint8_t, std::int8_t>(c_tile, a_tile, b_tile, c, a);
    case Operation::tdpbuud:
      return add_product_of_bytes<std::uint8_t, std::uint8_t>(c_tile, a_tile, b_tile, c, a);
    default: {
      const TileRounding rounding;
      add_product_of_bf16(c_tile, a_tile, b_tile, c, a);
    }
  }
}

}
