// SPDX-License-Identifier: Apache-2.0
// The state of a program that AMX instructions do not touch, and an emulator must not either.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "amx/tile_instructions.hpp"

namespace {

using namespace tile_test;

// Two traps, one of them with a product that rounds in its own way.
#define TWO_TRAPS "tilezero %%tmm0\n mov %%eax, %%eax\n tdpbf16ps %%tmm2, %%tmm1, %%tmm0\n"

class ProgramState : public Tiles {
 protected:
  void SetUp() override {
    Tiles::SetUp();
    if (IsSkipped()) return;
    ldtilecfg(uniform_configuration());
    const auto values = random_values<std::uint16_t>(512, 1);
    tileloadd<1>(values.data(), 64);
    tileloadd<2>(values.data(), 64);
  }
};

TEST_F(ProgramState, RedZone) {
  std::uint64_t changed = 0;
  asm volatile(
      "movabs $0x1122334455667788, %%rdx\n"
      "mov %%rdx, -8(%%rsp)\n mov %%rdx, -64(%%rsp)\n mov %%rdx, -128(%%rsp)\n" TWO_TRAPS
      "mov -8(%%rsp), %%rcx\n xor %%rdx, %%rcx\n or %%rcx, %0\n"
      "mov -64(%%rsp), %%rcx\n xor %%rdx, %%rcx\n or %%rcx, %0\n"
      "mov -128(%%rsp), %%rcx\n xor %%rdx, %%rcx\n or %%rcx, %0\n"
      : "+r"(changed)
      :
      : "rax", "rcx", "rdx", "memory", "cc");
  EXPECT_EQ(changed, 0u);
}

TEST_F(ProgramState, VectorRegisters) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no ymm registers";
  const auto values = random_values<std::uint32_t>(16, 2);
  std::vector<std::uint32_t> after(16);
  asm volatile("vmovdqu (%0), %%ymm0\n vmovdqu 32(%0), %%ymm15\n" TWO_TRAPS
               "vmovdqu %%ymm0, (%1)\n vmovdqu %%ymm15, 32(%1)\n vzeroupper"
               :
               : "r"(values.data()), "r"(after.data())
               : "rax", "xmm0", "xmm15", "memory");
  EXPECT_EQ(after, values);
}

TEST_F(ProgramState, WideRegistersAndMasks) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "no zmm registers";
  const auto values = random_values<std::uint32_t>(32, 3);
  std::vector<std::uint32_t> after(32);
  std::uint32_t mask = 0;
  // zmm31 is no register of code that the compiler makes here.
  asm volatile(
      "vmovdqu64 (%1), %%zmm0\n vmovdqu64 64(%1), %%zmm31\n mov $0xBEEF, %%ecx\n kmovw %%ecx, "
      "%%k3\n" TWO_TRAPS "kmovw %%k3, %0\n vmovdqu64 %%zmm0, (%2)\n vmovdqu64 %%zmm31, 64(%2)\n vzeroupper"
      : "=&r"(mask)
      : "r"(values.data()), "r"(after.data())
      : "rax", "rcx", "xmm0", "memory");
  EXPECT_EQ(after, values);
  EXPECT_EQ(mask, 0xBEEFu);
}

TEST_F(ProgramState, MxcsrFlagsAndX87) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1F80 | 0x6000 | 0x0020);  // all masked, toward zero, inexact seen
  std::uint64_t flags_before, flags_after;
  const long double value = 1.25L;
  long double x87 = value;
  asm volatile("fldt %2\n sub $128, %%rsp\n stc\n pushfq\n pop %0\n" TWO_TRAPS
               "pushfq\n pop %1\n add $128, %%rsp\n fstpt %2"
               : "=&r"(flags_before), "=&r"(flags_after), "+m"(x87)
               :
               : "rax", "cc", "memory");
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after, 0x1F80u | 0x6000u | 0x0020u);
  EXPECT_EQ(flags_before & 0x8D5, flags_after & 0x8D5);  // OF SF ZF AF PF CF
  EXPECT_EQ(flags_after & 1, 1u);
  EXPECT_EQ(x87, value);
}

TEST_F(ProgramState, Errno) {
  errno = EDOM;
  asm volatile(TWO_TRAPS : : : "rax", "memory");
  EXPECT_EQ(errno, EDOM);
}

}
