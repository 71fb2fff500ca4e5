// SPDX-License-Identifier: Apache-2.0
// A process can be told that Linux grants or refuses tile data. Each case is a child process: it is told for
// good.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "support/amx/emulator.hpp"

namespace {

constexpr int arch_get_fs = 0x1003, arch_get_xcomp_perm = 0x1022,
              arch_req_xcomp_perm = 0x1023;  // asm/prctl.h
constexpr int tile_data = 18;

// 0, or errno.
int request(int feature) {
  return syscall(SYS_arch_prctl, arch_req_xcomp_perm, feature) == 0 ? 0 : errno;
}

bool permitted() {
  std::uint64_t mask = 0;
  return syscall(SYS_arch_prctl, arch_get_xcomp_perm, &mask) == 0 && (mask >> tile_data & 1) != 0;
}

// Ends the child: 0, or the number of the first step that went wrong.
[[noreturn]] void exit_with_steps(std::initializer_list<bool> steps) {
  int number = 0;
  for (const bool step : steps) {
    ++number;
    if (!step) _exit(number);
  }
  _exit(0);
}

class TilePermissionDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(TilePermissionDeathTest, IsGranted) {
  EXPECT_EXIT(exit_with_steps({amx_emulator::fake_tile_permission(0), !permitted(), request(tile_data) == 0,
                               permitted(), request(17) == EINVAL}),
              testing::ExitedWithCode(0), "");
}

TEST_F(TilePermissionDeathTest, IsRefused) {
  for (const int error : {EINVAL, EOPNOTSUPP, ENOSPC})
    EXPECT_EXIT(exit_with_steps(
                    {amx_emulator::fake_tile_permission(error), request(tile_data) == error, !permitted()}),
                testing::ExitedWithCode(0), "");
}

bool permitted_in_a_thread() {
  bool result = false;
  std::thread([&] { result = permitted(); }).join();
  return result;
}

TEST_F(TilePermissionDeathTest, ReachesThreadsAndNoOtherCall) {
  std::uint64_t before = 0, after = 0;
  EXPECT_EXIT(exit_with_steps({syscall(SYS_arch_prctl, arch_get_fs, &before) == 0,
                               amx_emulator::fake_tile_permission(0), request(tile_data) == 0,
                               permitted_in_a_thread(), syscall(SYS_arch_prctl, arch_get_fs, &after) == 0,
                               before != 0, before == after}),
              testing::ExitedWithCode(0), "");
}

}
