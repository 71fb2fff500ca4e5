// SPDX-License-Identifier: Apache-2.0
// What the instructions other than products read, write and clear, in every form of an address.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "amx/tile_instructions.hpp"
#include "support/guarded_memory.hpp"

namespace {

using namespace tile_test;
using amx_emulator::Event;

using TileMemory = Tiles;

bool same(const TileConfiguration& x, const TileConfiguration& y) {
  return std::memcmp(&x, &y, sizeof x) == 0;
}

TileConfiguration stored_configuration() {
  TileConfiguration configuration = uniform_configuration(9, 20);
  sttilecfg(configuration);
  return configuration;
}

template <int tile = 0>
std::vector<std::uint8_t> stored_tile() {
  std::vector<std::uint8_t> bytes(1024, 0xA5);
  tilestored<tile>(bytes.data(), 64);
  return bytes;
}

std::vector<std::uint8_t> rows_of(const std::uint8_t* first, std::ptrdiff_t stride, int rows = 16,
                                  int row_bytes = 64) {
  std::vector<std::uint8_t> bytes(1024, 0xA5);
  for (int row = 0; row < rows; ++row)
    std::memcpy(&bytes[static_cast<std::size_t>(64 * row)], first + row * stride,
                static_cast<std::size_t>(row_bytes));
  return bytes;
}

TEST_F(TileMemory, KeepsTheConfiguration) {
  TileConfiguration configuration = uniform_configuration();
  for (int tile = 0; tile < 8; ++tile) {
    configuration.rows[tile] = static_cast<std::uint8_t>(tile + 1);
    configuration.row_bytes[tile] = static_cast<std::uint16_t>(8 * tile + 4);
  }
  configuration.rows[6] = 0;
  configuration.row_bytes[6] = 0;
  configuration.start_row = 3;
  ldtilecfg(configuration);
  EXPECT_TRUE(same(stored_configuration(), configuration));
  tilerelease();
  EXPECT_TRUE(same(stored_configuration(), {}));

  ldtilecfg(configuration);
  TileConfiguration none = configuration;
  none.palette = 0;  // whatever else it holds
  ldtilecfg(none);
  EXPECT_TRUE(same(stored_configuration(), {}));
}

TEST_F(TileMemory, LoadsAndStoresEveryShape) {
  const auto memory = random_values<std::uint8_t>(1 << 14, 1);
  const std::uint8_t* middle = memory.data() + memory.size() / 2;
  for (int rows = 1; rows <= 16; ++rows)
    for (int row_bytes = 4; row_bytes <= 64; row_bytes += 4) {
      ldtilecfg(uniform_configuration(rows, row_bytes));
      for (const std::ptrdiff_t stride : {64, -77, 0}) {
        tileloadd<0>(middle, stride);
        // Only the shape is written.
        ASSERT_EQ(stored_tile(), rows_of(middle, stride, rows, row_bytes))
            << rows << " x " << row_bytes << ", " << stride;
        tileloaddt1<1>(middle + 3, stride);
        ASSERT_EQ(stored_tile<1>(), rows_of(middle + 3, stride, rows, row_bytes));
      }
    }
}

TEST_F(TileMemory, StoresBackwards) {
  const auto memory = random_values<std::uint8_t>(1024, 2);
  std::vector<std::uint8_t> reversed(1024);
  ldtilecfg(uniform_configuration());
  tileloadd<4>(memory.data(), 64);
  tilestored<4>(&reversed[15 * 64], -64);
  EXPECT_EQ(rows_of(&reversed[15 * 64], -64), memory);
}

TEST_F(TileMemory, HasEightTiles) {
  const auto memory = random_values<std::uint8_t>(8 * 1024, 3);
  const auto tile = [&](int number) { return memory.data() + 1024 * number; };
  ldtilecfg(uniform_configuration());
  tileloadd<0>(tile(0), 64), tileloadd<1>(tile(1), 64), tileloadd<2>(tile(2), 64), tileloadd<3>(tile(3), 64);
  tileloadd<4>(tile(4), 64), tileloadd<5>(tile(5), 64), tileloadd<6>(tile(6), 64), tileloadd<7>(tile(7), 64);
  tilezero<2>();
  EXPECT_EQ(stored_tile<0>(), rows_of(tile(0), 64));
  EXPECT_EQ(stored_tile<1>(), rows_of(tile(1), 64));
  EXPECT_EQ(stored_tile<2>(), std::vector<std::uint8_t>(1024, 0));
  EXPECT_EQ(stored_tile<3>(), rows_of(tile(3), 64));
  EXPECT_EQ(stored_tile<4>(), rows_of(tile(4), 64));
  EXPECT_EQ(stored_tile<5>(), rows_of(tile(5), 64));
  EXPECT_EQ(stored_tile<6>(), rows_of(tile(6), 64));
  EXPECT_EQ(stored_tile<7>(), rows_of(tile(7), 64));
}

TEST_F(TileMemory, IsClearedByConfigurationAndRelease) {
  const auto memory = random_values<std::uint8_t>(1024, 4);
  const std::vector<std::uint8_t> zeros(1024);
  ldtilecfg(uniform_configuration());
  tileloadd<0>(memory.data(), 64);
  ldtilecfg(uniform_configuration());
  EXPECT_EQ(stored_tile(), zeros);
  tileloadd<0>(memory.data(), 64);
  tilerelease();
  ldtilecfg(uniform_configuration());
  EXPECT_EQ(stored_tile(), zeros);
}

// start_row of the configuration is where a load goes on that was interrupted.
TEST_F(TileMemory, GoesOnAtStartRow) {
  const auto memory = random_values<std::uint8_t>(1024, 5);
  TileConfiguration configuration = uniform_configuration();
  configuration.start_row = 5;
  ldtilecfg(configuration);
  tileloadd<0>(memory.data(), 64);
  EXPECT_EQ(stored_configuration().start_row, 0);
  std::vector<std::uint8_t> expected = memory;
  std::memset(expected.data(), 0, 5 * 64);
  EXPECT_EQ(stored_tile(), expected);

  ldtilecfg(configuration);
  std::vector<std::uint8_t> stored = memory;
  tilestored<0>(stored.data(), 64);
  expected = memory;
  std::memset(&expected[5 * 64], 0, 11 * 64);
  EXPECT_EQ(stored, expected);
  EXPECT_EQ(stored_configuration().start_row, 0);

  // Others pay no heed to it and set it to zero.
  ldtilecfg(configuration);
  tilezero<0>();
  EXPECT_EQ(stored_configuration().start_row, 0);
  ldtilecfg(configuration);
  multiply<Operation::tdpbssd>();
  EXPECT_EQ(stored_configuration().start_row, 0);
}

TEST_F(TileMemory, TouchesNoByteBeyondTheShape) {
  for (const auto& [rows, row_bytes] : {std::pair(16, 64), std::pair(5, 12), std::pair(1, 4)}) {
    const auto bytes = random_values<std::uint8_t>(static_cast<std::size_t>(rows * row_bytes), 6);
    ldtilecfg(uniform_configuration(rows, row_bytes));
    for (const test::Edge edge : {test::Edge::begin, test::Edge::end}) {
      const test::Guarded<std::uint8_t> source(bytes, edge), destination(bytes.size(), edge);
      tileloadd<0>(source.data(), row_bytes);
      tilestored<0>(destination.data(), row_bytes);
      EXPECT_TRUE(std::ranges::equal(destination.span(), bytes));
    }
  }
}

TEST_F(TileMemory, TakesEveryFormOfAddress) {
  const auto memory = random_values<std::uint8_t>(1 << 14, 7);
  const std::uint8_t* const middle = memory.data() + memory.size() / 2;
  ldtilecfg(uniform_configuration());
  asm volatile("mov %0, %%r12\n mov $9, %%r13\n tileloadd 0x1234(%%r12,%%r13,8), %%tmm0"
               :
               : "r"(memory.data())
               : "r12", "r13", "memory");
  EXPECT_EQ(stored_tile(), rows_of(memory.data() + 0x1234, 72));
  asm volatile("mov %0, %%r13\n mov $-40, %%r9\n tileloadd -0x10(%%r13,%%r9,2), %%tmm0"
               :
               : "r"(middle)
               : "r13", "r9", "memory");
  EXPECT_EQ(stored_tile(), rows_of(middle - 16, -80));
  asm volatile("mov %0, %%rax\n tileloadd (%%rax), %%tmm0" : : "r"(middle) : "rax", "memory");
  EXPECT_EQ(stored_tile(), rows_of(middle, 0)) << "no index";
  asm volatile("push %%rbp\n mov %0, %%rbp\n mov $25, %%r8\n tileloadd (%%rbp,%%r8,4), %%tmm0\n pop %%rbp"
               :
               : "r"(middle)
               : "r8", "memory");
  EXPECT_EQ(stored_tile(), rows_of(middle, 100));
  // Through a buffer below the red zone.
  asm volatile(
      "sub $0x500, %%rsp\n tilestored %%tmm0, 64(%%rsp,%0,1)\n tileloadd 64(%%rsp,%0,1), %%tmm1\n add "
      "$0x500, %%rsp"
      :
      : "r"(std::ptrdiff_t{64})
      : "memory");
  EXPECT_EQ(stored_tile<1>(), rows_of(middle, 100));
}

TEST_F(TileMemory, FindsConfigurationsInEveryPlace) {
  TileConfiguration array[4] = {};
  array[3] = uniform_configuration(3, 8);
  asm volatile("ldtilecfg -64(%0,%1,8)" : : "r"(&array[1]), "r"(std::ptrdiff_t{24}) : "memory");
  EXPECT_TRUE(same(stored_configuration(), array[3])) << "an index is part of the address";
  asm volatile("sttilecfg 64(%0,%1,4)" : : "r"(array), "r"(std::ptrdiff_t{16}) : "memory");
  EXPECT_TRUE(same(array[2], array[3]));

  static TileConfiguration global;
  global = uniform_configuration(7, 24);
  asm volatile("ldtilecfg %0" : : "m"(global));  // rip-relative
  EXPECT_TRUE(same(stored_configuration(), global));

  static thread_local TileConfiguration local;
  std::uintptr_t thread;
  asm("mov %%fs:0, %0" : "=r"(thread));
  asm volatile("sttilecfg %%fs:(%0)" : : "r"(reinterpret_cast<std::uintptr_t>(&local) - thread) : "memory");
  EXPECT_TRUE(same(local, global));
}

class TileCounts : public EmulatedTiles {};

TEST_F(TileCounts, CountRowsAndThoseInTwoCacheLines) {
  alignas(64) std::uint8_t memory[64 * 17] = {};
  ldtilecfg(uniform_configuration(5, 48));
  tileloadd<0>(memory, 64);
  tileloadd<0>(memory + 16, 64);
  EXPECT_EQ(count_of(Event::row_load), 10u);
  EXPECT_EQ(count_of(Event::row_load_split), 0u);
  tileloaddt1<0>(memory + 17, 64);
  EXPECT_EQ(count_of(Event::row_load), 15u);
  EXPECT_EQ(count_of(Event::row_load_split), 5u);
  tileloadd<0>(memory, 48);  // rows at 0, 48, 96, 144, 192: the second and third
  EXPECT_EQ(count_of(Event::row_load_split), 7u);
  tilestored<0>(memory, 48);
  tilestored<0>(memory, 64);
  EXPECT_EQ(count_of(Event::row_store), 10u);
  EXPECT_EQ(count_of(Event::row_store_split), 2u);
  EXPECT_EQ(count_of(Event::row_load), 20u);
}

}
