// SPDX-License-Identifier: Apache-2.0
// SIGILL: fetch, execute and step over AMX instructions until one is not AMX.
#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <optional>

#include "support/amx/counts.hpp"
#include "support/amx/emulator.hpp"
#include "support/amx/tile_state.hpp"

namespace amx_emulator {

namespace {

// SIGILL strikes at an AMX instruction of a kernel, never inside the C library, so the handler may call the
// library. The storage is there from the start of each thread: lazy allocation would call malloc in the
// handler.
__attribute__((tls_model("initial-exec"))) constinit thread_local TileState tiles;

struct sigaction previous_action;
FaultHook fault_hook;

// gregs of the registers 0 to 15 as ModRM numbers them, then of rip.
constexpr int register_places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

std::uintptr_t register_value(const greg_t* registers, int number) {
  return number == MemoryOperand::none ? 0 : static_cast<std::uintptr_t>(registers[register_places[number]]);
}

std::uintptr_t segment_base(MemoryOperand::Segment segment) {
  constexpr int arch_get_gs = 0x1004;  // asm/prctl.h
  std::uintptr_t base = 0;
  if (segment == MemoryOperand::fs) asm("mov %%fs:0, %0" : "=r"(base));  // the psABI keeps the base there
  if (segment == MemoryOperand::gs) syscall(SYS_arch_prctl, arch_get_gs, &base);
  return base;
}

// `registers` of the program, with rip at the next instruction.
Exception execute(const Instruction& instruction, const greg_t* registers) {
  const MemoryOperand& memory = instruction.memory;
  const std::uintptr_t address = register_value(registers, memory.base) + segment_base(memory.segment) +
                                 static_cast<std::uintptr_t>(std::intptr_t{memory.displacement});
  const std::uintptr_t stride = register_value(registers, memory.index) * static_cast<unsigned>(memory.scale);
  const int tile = instruction.tile;
  switch (instruction.operation) {
    case Operation::ldtilecfg:
      return tiles.load_configuration(address + stride);
    case Operation::sttilecfg:
      return tiles.store_configuration(address + stride), Exception{};
    case Operation::tilerelease:
      return tiles.release(), Exception{};
    case Operation::tilezero:
      return tiles.zero(tile);
    case Operation::tileloadd:
    case Operation::tileloaddt1:
      return tiles.load(tile, address, stride);
    case Operation::tilestored:
      return tiles.store(tile, address, stride);
    default:
      return tiles.multiply(instruction.operation, tile, instruction.a, instruction.b);
  }
}

void call_previous_handler(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0)
    return previous_action.sa_sigaction(signal, info, context);
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
    return previous_action.sa_handler(signal);
  // Linux kills for an instruction even if SIGILL is ignored: it is executed again when the handler returns.
  std::signal(SIGILL, SIG_DFL);
  if (info->si_code <= 0) std::raise(SIGILL);  // sent by a program: there is no instruction to execute again
}

void raise_fault(const Fault& fault, int signal, siginfo_t* info, void* context) {
  if (fault_hook != nullptr) fault_hook(fault);
  std::fprintf(stderr, "%s in %s at %p: %s\n", fault.exception, fault.instruction, fault.address,
               fault.reason);
  if (fault.exception[1] == 'U') return call_previous_handler(signal, info, context);
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

void handle_illegal_instruction(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  bool progress = false;
  for (;;) {
    const greg_t address = registers[REG_RIP];
    const auto* code = reinterpret_cast<const std::uint8_t*>(address);
    const std::optional<Instruction> instruction = decode(code);
    if (!instruction) break;
    registers[REG_RIP] += instruction->length;
    if (const Exception exception = execute(*instruction, registers)) {
      registers[REG_RIP] = address;
      raise_fault({exception.name, name_of(instruction->operation), exception.reason, code}, signal, info,
                  context);
      errno = saved_errno;
      return;
    }
    count(instruction->operation);
    progress = true;
  }
  if (progress)
    count(Event::trap);
  else
    call_previous_handler(signal, info, context);
  errno = saved_errno;
}

// Whether the processor has tiles and Linux has switched them on (SDM volume 1, section 13.3).
bool has_tiles() {
  constexpr unsigned osxsave = 1u << 27, amx_tile = 1u << 24, tile_state = 3u << 17;
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & osxsave) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & amx_tile) == 0) return false;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return (a & tile_state) == tile_state;
}

}

Execution install() {
  constexpr int arch_req_xcomp_perm = 0x1023, xtile_data = 18;  // asm/prctl.h
  if (has_tiles())
    return syscall(SYS_arch_prctl, arch_req_xcomp_perm, xtile_data) == 0 ? Execution::native
                                                                         : Execution::impossible;
  if (!__builtin_cpu_supports("fma")) return Execution::impossible;

  struct sigaction current {};
  if (sigaction(SIGILL, nullptr, &current) != 0) return Execution::impossible;
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == handle_illegal_instruction)
    return Execution::emulated;
  previous_action = current;
  struct sigaction action {};
  action.sa_sigaction = handle_illegal_instruction;
  action.sa_flags =
      SA_SIGINFO | SA_NODEFER;  // not blocked meanwhile: a hook or a SIGSEGV handler may jump out
  return sigaction(SIGILL, &action, nullptr) == 0 ? Execution::emulated : Execution::impossible;
}

bool tiles_configured() {
  return tiles.configured();
}

void set_fault_hook(FaultHook hook) {
  fault_hook = hook;
}

}
