// SPDX-License-Identifier: Apache-2.0
// The emulator as the program around it sees it: faults, counts, threads, other signals, and the state it
// must not touch.
#include "support/amx/emulator.hpp"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <barrier>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "amx/tile_instructions.hpp"
#include "support/amx/counts.hpp"

namespace {

using namespace tile_test;
using namespace amx_emulator;

using Emulator = EmulatedTiles;

sigjmp_buf after_fault;
Fault last_fault;

void leave(const Fault& fault) {
  last_fault = fault;
  siglongjmp(after_fault, 1);
}

// "exception instruction: reason" of the fault that `code` raises, or "none".
template <class Code>
std::string fault_of(Code code) {
  set_fault_hook(leave);
  last_fault = {"none", "", "", nullptr};
  if (sigsetjmp(after_fault, 1) == 0) code();
  set_fault_hook(nullptr);
  return std::string(last_fault.exception) + " " + last_fault.instruction + ": " + last_fault.reason;
}

std::string fault_of_configuration(void (*change)(TileConfiguration&)) {
  TileConfiguration configuration = uniform_configuration();
  change(configuration);
  return fault_of([&] { ldtilecfg(configuration); });
}

TEST_F(Emulator, RefusesConfigurations) {
  using C = TileConfiguration;
  EXPECT_EQ(fault_of_configuration([](C&) {}), "none : ");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.palette = 2; }), "#GP ldtilecfg: palette above 1");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.reserved[0] = 1; }),
            "#GP ldtilecfg: reserved bytes are not zero");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.reserved[13] = 1; }),
            "#GP ldtilecfg: reserved bytes are not zero");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.rows[8] = 1; }),
            "#GP ldtilecfg: tile 8 or above is configured");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.row_bytes[15] = 4; }),
            "#GP ldtilecfg: tile 8 or above is configured");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.rows[7] = 17; }), "#GP ldtilecfg: more than 16 rows");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.row_bytes[7] = 65; }),
            "#GP ldtilecfg: more than 64 bytes a row");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.rows[0] = 0; }),
            "#GP ldtilecfg: only one of rows and colsb is zero");
  EXPECT_EQ(fault_of_configuration([](C& c) { c.row_bytes[0] = 0; }),
            "#GP ldtilecfg: only one of rows and colsb is zero");
}

TEST_F(Emulator, RefusesTilesThatCannotBeUsed) {
  std::uint8_t memory[1024] = {};
  const auto load = [&] { tileloadd<0>(memory, 64); };
  const auto store = [&] { tilestored<0>(memory, 64); };
  EXPECT_EQ(fault_of([] { tilezero<0>(); }), "#UD tilezero: no tiles are configured");
  EXPECT_EQ(fault_of(load), "#UD tileloadd: no tiles are configured");
  EXPECT_EQ(fault_of([] { multiply<Operation::tdpbssd>(); }), "#UD tdpbssd: no tiles are configured");

  TileConfiguration configuration = uniform_configuration();
  configuration.rows[0] = 0;
  configuration.row_bytes[0] = 0;
  ldtilecfg(configuration);
  EXPECT_EQ(fault_of([] { tilezero<0>(); }), "#UD tilezero: a tile is not configured");
  EXPECT_EQ(fault_of([&] { tileloaddt1<0>(memory, 64); }), "#UD tileloaddt1: a tile is not configured");
  EXPECT_EQ(fault_of(store), "#UD tilestored: a tile is not configured");
  EXPECT_EQ(fault_of([] { multiply<Operation::tdpbusd>(); }), "#UD tdpbusd: a tile is not configured");

  ldtilecfg(uniform_configuration(16, 62));
  EXPECT_EQ(fault_of(load), "#UD tileloadd: colsb is not a multiple of 4");
  EXPECT_EQ(fault_of([] { multiply<Operation::tdpbuud>(); }), "#UD tdpbuud: colsb is not a multiple of 4");

  configuration = uniform_configuration(4);
  configuration.start_row = 4;
  ldtilecfg(configuration);
  EXPECT_EQ(fault_of(load), "#UD tileloadd: start_row is not below rows");
  EXPECT_EQ(fault_of(store), "#UD tilestored: start_row is not below rows");
}

TEST_F(Emulator, RefusesProductsOfShapesThatDoNotFit) {
  ldtilecfg(uniform_configuration());
  // Bytes, since assemblers refuse these: C = A, C = B, A = B.
  EXPECT_EQ(fault_of([] { asm volatile(".byte 0xC4, 0xE2, 0x6B, 0x5E, 0xC9"); }),
            "#UD tdpbssd: two operands are the same tile");
  EXPECT_EQ(fault_of([] { asm volatile(".byte 0xC4, 0xE2, 0x72, 0x5E, 0xCA"); }),
            "#UD tdpbsud: two operands are the same tile");
  EXPECT_EQ(fault_of([] { asm volatile(".byte 0xC4, 0xE2, 0x6A, 0x5C, 0xC2"); }),
            "#UD tdpbf16ps: two operands are the same tile");
  const auto fault_with = [](int tile, int rows, int row_bytes) {
    TileConfiguration configuration = uniform_configuration();
    configuration.rows[tile] = static_cast<std::uint8_t>(rows);
    configuration.row_bytes[tile] = static_cast<std::uint16_t>(row_bytes);
    ldtilecfg(configuration);
    return fault_of([] { multiply<Operation::tdpbssd>(); });
  };
  EXPECT_EQ(fault_with(0, 15, 64), "#UD tdpbssd: C and A differ in rows");
  EXPECT_EQ(fault_with(0, 16, 60), "#UD tdpbssd: C and B differ in colsb");
  EXPECT_EQ(fault_with(1, 16, 60), "#UD tdpbssd: colsb of A is not 4 times the rows of B");
  EXPECT_EQ(fault_with(2, 15, 64), "#UD tdpbssd: colsb of A is not 4 times the rows of B");
  EXPECT_EQ(fault_with(3, 15, 60), "none : ");
}

TEST_F(Emulator, FaultsLeaveAddressAndTilesAndCountNothing) {
  const auto memory = random_values<std::uint8_t>(1024, 1);
  std::vector<std::uint8_t> stored(1024);
  ldtilecfg(uniform_configuration());
  tileloadd<0>(memory.data(), 64);
  reset_counts();
  static const void* address;
  fault_of([] {
    asm volatile("lea 0f(%%rip), %%rax\n mov %%rax, %0\n0: .byte 0xC4, 0xE2, 0x6B, 0x5E, 0xC9"
                 : "=m"(address)
                 :
                 : "rax");
  });
  EXPECT_EQ(last_fault.address, address);
  TileConfiguration wrong = uniform_configuration();
  wrong.palette = 2;
  fault_of([&] { ldtilecfg(wrong); });
  EXPECT_EQ(count_of(Operation::tdpbssd) + count_of(Operation::ldtilecfg) + count_of(Event::product), 0u);
  EXPECT_EQ(count_of(Event::trap), 0u);
  tilestored<0>(stored.data(), 64);
  EXPECT_EQ(stored, memory);
}

using EmulatorDeathTest = Emulator;

TEST_F(EmulatorDeathTest, FaultsKillAsLinuxDoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(tilezero<0>(), testing::KilledBySignal(SIGILL),
              "#UD in tilezero at 0x.*: no tiles are configured");
  TileConfiguration wrong = uniform_configuration();
  wrong.palette = 9;
  EXPECT_EXIT(ldtilecfg(wrong), testing::KilledBySignal(SIGSEGV),
              "#GP in ldtilecfg at 0x.*: palette above 1");
}

[[noreturn]] void exit_with_three(int) {
  _exit(3);
}
[[noreturn]] void exit_with_code(int, siginfo_t* info, void*) {
  _exit(info->si_code == ILL_ILLOPN ? 4 : 5);
}

TEST_F(EmulatorDeathTest, PassesOnWhatIsNotAmx) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(asm volatile("ud2"), testing::KilledBySignal(SIGILL), "");
  EXPECT_EXIT(raise(SIGILL), testing::KilledBySignal(SIGILL), "");
  EXPECT_EXIT(asm volatile(".byte 0xC4, 0xE2, 0x6B, 0x5C, 0xC1"), testing::KilledBySignal(SIGILL), "")
      << "TDPFP16PS";
  const auto with_handler = [](auto handler, int flags) {
    struct sigaction action {};
    if constexpr (std::is_invocable_v<decltype(handler), int>)
      action.sa_handler = handler;
    else
      action.sa_sigaction = handler;
    action.sa_flags = flags;
    sigaction(SIGILL, &action, nullptr);
    install();
    install();
    ldtilecfg(uniform_configuration());
    tilezero<0>();
    asm volatile("ud2");
  };
  EXPECT_EXIT(with_handler(exit_with_three, 0), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(with_handler(exit_with_code, SA_SIGINFO), testing::ExitedWithCode(4), "");
  EXPECT_EXIT(with_handler(SIG_IGN, 0), testing::KilledBySignal(SIGILL), "");
}

TEST_F(Emulator, CountsInstructionsTrapsAndProducts) {
  const auto bytes = random_values<std::uint8_t>(1024, 2);
  std::vector<std::uint8_t> sums(1024);
  EXPECT_EQ(count_of(Event::trap), 0u);
  // One behind the other: one trap. The mov ends it.
  asm volatile("tilerelease\n tilerelease\n tilerelease\n mov %%eax, %%eax\n tilerelease" : : : "eax");
  EXPECT_EQ(count_of(Event::trap), 2u);
  EXPECT_EQ(count_of(Operation::tilerelease), 4u);

  const auto multiply_all = [&](TileConfiguration configuration) {
    ldtilecfg(configuration);
    tilezero<0>();
    tileloadd<1>(bytes.data(), 64);
    tileloaddt1<2>(bytes.data(), 64);
    multiply<Operation::tdpbssd>(), multiply<Operation::tdpbsud>(), multiply<Operation::tdpbusd>();
    multiply<Operation::tdpbuud>(), multiply<Operation::tdpbf16ps>();
    tilestored<0>(sums.data(), 64);
  };
  const struct {
    int m, n, k_bytes;
    std::uint64_t in_part, of_short_k;
  } cases[] = {{16, 16, 64, 0, 0}, {16, 16, 32, 0, 5}, {15, 16, 64, 5, 0},
               {16, 15, 64, 5, 0}, {16, 16, 60, 0, 5}, {1, 1, 4, 5, 5}};
  for (const auto& [m, n, k_bytes, in_part, of_short_k] : cases) {
    reset_counts();
    multiply_all(product_configuration(m, n, k_bytes));
    for (int operation = 0; operation < operation_count; ++operation) {
      const auto of = static_cast<Operation>(operation);
      const bool executed = of != Operation::sttilecfg && of != Operation::tilerelease;
      EXPECT_EQ(count_of(of), executed ? 1u : 0u) << name_of(of);
    }
    EXPECT_EQ(count_of(Event::product), 5u);
    EXPECT_EQ(count_of(Event::product_in_part), in_part) << m << " x " << n << " x " << k_bytes;
    EXPECT_EQ(count_of(Event::product_of_short_k), of_short_k) << m << " x " << n << " x " << k_bytes;
  }
  reset_counts();
  sttilecfg(*std::make_unique<TileConfiguration>());
  EXPECT_EQ(count_of(Operation::sttilecfg), 1u);
  EXPECT_EQ(count_of(Event::product), 0u);
}

TEST_F(Emulator, TellsWhetherTilesAreConfigured) {
  EXPECT_FALSE(tiles_configured());
  ldtilecfg(uniform_configuration());
  EXPECT_TRUE(tiles_configured());
  std::thread([] { EXPECT_FALSE(tiles_configured()) << "in another thread"; }).join();
  tilerelease();
  EXPECT_FALSE(tiles_configured());
}

TEST_F(Emulator, KeepsTheTilesOfThreadsApart) {
  constexpr int rounds = 100;
  const auto work = [](std::uint32_t seed) {
    for (int round = 0; round < rounds; ++round) {
      const auto memory = random_values<std::uint8_t>(1024, seed + static_cast<std::uint32_t>(round));
      std::vector<std::uint8_t> stored(1024);
      ldtilecfg(uniform_configuration());
      tileloadd<6>(memory.data(), 64);
      std::this_thread::yield();
      tilestored<6>(stored.data(), 64);
      ASSERT_EQ(stored, memory);
      tilerelease();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t seed = 0; seed < 3; ++seed) threads.emplace_back(work, 1000 * seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count_of(Operation::tileloadd), 3u * rounds);
  EXPECT_EQ(count_of(Event::row_store), 3u * rounds * 16);
}

TEST_F(Emulator, AddsUpTheCountsOfThreads) {
  constexpr int rounds = 2000000;
  std::barrier together(2);
  const auto work = [&] {
    together.arrive_and_wait();
    for (int round = 0; round < rounds; ++round) count(Event::product), count(Operation::tilezero);
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(count_of(Event::product), 2u * rounds);
  EXPECT_EQ(count_of(Operation::tilezero), 2u * rounds);
}

}
