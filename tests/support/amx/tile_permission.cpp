// SPDX-License-Identifier: Apache-2.0
// A Linux that grants or refuses tile data: a seccomp filter turns two arch_prctl calls into SIGSYS, which
// answers them.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "support/amx/emulator.hpp"

namespace amx_emulator {

namespace {

constexpr int arch_get_xcomp_perm = 0x1022, arch_req_xcomp_perm = 0x1023;  // asm/prctl.h

// Bits of XCR0 (SDM volume 1, section 13.1).
constexpr int xtile_data = 18;
constexpr std::uint64_t without_tile_data = 0x200E7;  // x87, SSE, AVX, three of AVX-512, tile configuration

int refusal;  // 0, or the errno of a request
bool granted;

long answer(long code, greg_t argument) {
  if (code == arch_get_xcomp_perm) {
    const std::uint64_t permitted = without_tile_data | std::uint64_t{granted} << xtile_data;
    std::memcpy(reinterpret_cast<void*>(argument), &permitted, sizeof permitted);
    return 0;
  }
  if (argument != xtile_data) return -EINVAL;
  granted = refusal == 0;
  return -refusal;
}

void handle_system_call(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RAX] = answer(registers[REG_RDI], registers[REG_RSI]);  // the kernel's way: minus errno
}

}

bool fake_tile_permission(int request_error) {
  refusal = request_error;
  struct sigaction action {};
  action.sa_sigaction = handle_system_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;

  constexpr std::uint16_t load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K,
                          end = BPF_RET | BPF_K;
  sock_filter filter[] = {
      // a jump skips as many lines if equal, if not
      {load, 0, 0, offsetof(seccomp_data, nr)},
      {equal, 0, 4, SYS_arch_prctl},
      {load, 0, 0, offsetof(seccomp_data, args[0])},
      {equal, 1, 0, arch_get_xcomp_perm},
      {equal, 0, 1, arch_req_xcomp_perm},
      {end, 0, 0, SECCOMP_RET_TRAP},
      {end, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}
