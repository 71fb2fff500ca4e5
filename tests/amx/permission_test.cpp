// SPDX-License-Identifier: Apache-2.0
// A processor with AMX whose system grants tiles, refuses them, or does not know them: what is selected, and
// what plan() says.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "support/amx/tile_layer.hpp"

namespace {

using namespace edgeq;

/// CPUID of a Sapphire Rapids, as far as decode_x86 reads it.
constexpr X86Cpuid sapphire_rapids{
    0x20, 0xFFFFFFFF, 1, 0xFFFFFFFF, 0xFFFFFFFF, 1u << 24 | 1u << 25 | 1u << 22, 0xFFFFFFFF};
constexpr std::uint64_t all_states = 0x600E7;

CpuFeatures ask() {
  return decode_x86(
      sapphire_rapids, [] { return all_states; }, detail::request_amx_tiles);
}

AnyLinear layer_on(CpuFeatures cpu) {
  static const test::Weights<Int4<128>> weights(16, 128);
  return test::pack<Int4<128>, DynamicInt8>(weights.view(), {}, cpu);
}

/// Runs `body` in a child, whose seccomp filter dies with it; 0 is success.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

constexpr std::uint32_t amx = feature_mask(Feature::amx_int8, Feature::amx_bf16);

TEST(TilePermission, GrantedTilesAreChosenWhereTheyPay) {
  EXPECT_EQ(in_child([] {
              if (!amx_emulator::fake_tile_permission(0)) return 1;
              const CpuFeatures cpu = ask();
              if (!cpu.has(amx)) return 2;
              if (layer_on(cpu).plan(amx::min_rows).isa != "amx_int8") return 3;
              if (layer_on(cpu).plan(amx::min_rows - 1).isa != "avx512_vnni") return 4;
              if (!ask().has(amx)) return 5;  // from the second question on, the system only reports
              return 0;
            }),
            0);
}

TEST(TilePermission, RefusedTilesAreReportedAndTheNextKernelRuns) {
  EXPECT_EQ(
      in_child([] {
        if (!amx_emulator::fake_tile_permission(EPERM)) return 1;
        const CpuFeatures cpu = ask();
        if ((cpu.bits & amx) != 0 || (cpu.withheld & amx) != amx) return 2;
        const Plan plan = layer_on(cpu).plan(64);
        if (plan.isa != "avx512_vnni") return 3;
        for (const Plan::Rejected& rejected : plan.rejected)
          if (rejected.isa == "amx_int8")
            return rejected.reason == "amx_int8 is withheld, by the operating system or by EDGEQ_DISABLE" ? 0
                                                                                                          : 4;
        return 5;
      }),
      0);
}

// This kernel's own answer, on a machine without AMX: no, whatever the error.
TEST(TilePermission, ASystemThatDoesNotKnowTilesRefuses) {
  if (amx_emulator::install() == amx_emulator::Execution::native) GTEST_SKIP() << "the system has tiles";
  EXPECT_FALSE(ask().has(Feature::amx_int8));
}

}
