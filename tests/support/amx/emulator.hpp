// SPDX-License-Identifier: Apache-2.0
// Runs Intel AMX code on an x86-64 Linux machine without AMX: each instruction raises SIGILL, whose handler
// does its work.
#pragma once
#include <cstdint>

#include "support/amx/instruction.hpp"

/// What the tests of AMX kernels call. The kernels need no change: the processor itself hands over what it
/// cannot execute. The model is a Sapphire Rapids: palette 1, TDPBF16PS and the four byte products, no
/// TDPFP16PS.
namespace amx_emulator {

enum class Execution {
  emulated,   ///< SIGILL is handled here
  native,     ///< the processor has AMX and Linux has granted it: nothing is emulated or counted
  impossible  ///< no FMA to emulate with, or a processor with AMX whose permission Linux refuses
};

/// Handles SIGILL in the whole process from now on, and passes on every illegal instruction that is not AMX
/// to the handler that stands when this is called. Call it again after setting another handler; otherwise
/// again is no change.
Execution install();

/// Whether tiles are configured in the calling thread: a kernel that leaves them so forgot TILERELEASE. False
/// under Execution::native.
bool tiles_configured();

/// An exception that an AMX instruction raised by the rules of the SDM. Neither registers nor tiles have
/// changed.
struct Fault {
  const char* exception;    ///< "#UD" or "#GP"
  const char* instruction;  ///< "tileloadd"
  const char* reason;       ///< one of the texts in tile_state.cpp
  const void* address;      ///< of the instruction
};

/// Called inside the signal handler. It may leave with siglongjmp to a sigsetjmp that saved the signal mask.
/// If it returns, or is null, stderr gets a line and the process the signal that Linux would send: SIGILL for
/// #UD, SIGSEGV for #GP.
using FaultHook = void (*)(const Fault& fault);
void set_fault_hook(FaultHook hook);

/// What is counted beside the instructions. A row of 64 bytes moves at once if it lies in one cache line.
enum class Event : std::uint8_t {
  trap,            ///< SIGILL signals: instructions that follow one another without another between share one
  row_load,        ///< rows that TILELOADD and TILELOADDT1 read
  row_load_split,  ///< those of them with bytes in two cache lines
  row_store,       ///< rows that TILESTORED wrote
  row_store_split,    ///< those of them with bytes in two cache lines
  product,            ///< TDP instructions of every kind
  product_in_part,    ///< those with fewer than 16 rows (of A and C) or fewer than 16 columns (of B and C)
  product_of_short_k  ///< those with fewer than 64 bytes of k (colsb of A < 64); may be in part too
};
inline constexpr int event_count = 8;

/// Completed since the start or the last reset, in all threads. An instruction that faults is not counted.
std::uint64_t count_of(Operation operation);
std::uint64_t count_of(Event event);
void reset_counts();

/// From now on arch_prctl(ARCH_REQ_XCOMP_PERM, 18), the request for tile data, succeeds, or fails with
/// `request_error` if it is not 0; ARCH_GET_XCOMP_PERM reports bit 18 once it has been granted. False if
/// Linux refuses the seccomp filter that does it. A filter cannot be undone: call it in a forked child,
/// before its threads start.
bool fake_tile_permission(int request_error);

}
