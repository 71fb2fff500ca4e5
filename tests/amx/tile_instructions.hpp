// SPDX-License-Identifier: Apache-2.0
// The AMX instructions as functions, and the fixtures of the tests that execute them.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "support/amx/emulator.hpp"
#include "support/amx/tile_state.hpp"

namespace tile_test {

using amx_emulator::Operation;
using amx_emulator::TileConfiguration;

// GCC's intrinsics do not say that a tile load reads memory: stores before it could be left out.

inline void ldtilecfg(const TileConfiguration& configuration) {
  asm volatile("ldtilecfg %0" : : "m"(configuration));
}
inline void sttilecfg(TileConfiguration& configuration) {
  asm volatile("sttilecfg %0" : "=m"(configuration));
}
inline void tilerelease() {
  asm volatile("tilerelease");
}

template <int tile>
void tilezero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(tile));
}

template <int tile>
void tileloadd(const void* rows, std::ptrdiff_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(rows), "r"(stride), "i"(tile) : "memory");
}

template <int tile>
void tileloaddt1(const void* rows, std::ptrdiff_t stride) {
  asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" : : "r"(rows), "r"(stride), "i"(tile) : "memory");
}

template <int tile>
void tilestored(void* rows, std::ptrdiff_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(rows), "r"(stride), "i"(tile) : "memory");
}

/// The product C += A · B; the assembler's order is B, A, C.
template <Operation operation, int c = 0, int a = 1, int b = 2>
void multiply() {
  if constexpr (operation == Operation::tdpbssd)
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  else if constexpr (operation == Operation::tdpbsud)
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  else if constexpr (operation == Operation::tdpbusd)
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  else if constexpr (operation == Operation::tdpbuud)
    asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
  else
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}

/// Every tile of `rows` x `row_bytes`.
inline TileConfiguration uniform_configuration(int rows = 16, int row_bytes = 64) {
  TileConfiguration configuration;
  configuration.palette = 1;
  for (int tile = 0; tile < amx_emulator::tile_count; ++tile) {
    configuration.rows[tile] = static_cast<std::uint8_t>(rows);
    configuration.row_bytes[tile] = static_cast<std::uint16_t>(row_bytes);
  }
  return configuration;
}

/// C [m, n] in tile 0, A [m, k_bytes] in 1, B [k_bytes / 4, 4 n] in 2.
inline TileConfiguration product_configuration(int m, int n, int k_bytes) {
  TileConfiguration configuration = uniform_configuration(m, 4 * n);
  configuration.row_bytes[1] = static_cast<std::uint16_t>(k_bytes);
  configuration.rows[2] = static_cast<std::uint8_t>(k_bytes / 4);
  return configuration;
}

template <class T>
std::vector<T> random_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

/// What holds on a processor with AMX too.
class Tiles : public testing::Test {
 protected:
  void SetUp() override {
    if (amx_emulator::install() == amx_emulator::Execution::impossible)
      GTEST_SKIP() << "no AMX, and no FMA for it";
  }
  void TearDown() override {
    if (!IsSkipped()) tilerelease();
  }
};

/// What the emulator alone shows: faults and counts.
class EmulatedTiles : public Tiles {
 protected:
  void SetUp() override {
    Tiles::SetUp();
    if (amx_emulator::install() == amx_emulator::Execution::native)
      GTEST_SKIP() << "this processor has AMX itself";
    amx_emulator::reset_counts();
  }
};

}
