// SPDX-License-Identifier: Apache-2.0
// What an AMX instruction says: a pure function from its bytes to its operands.
#pragma once
#include <cstdint>
#include <optional>

namespace amx_emulator {

enum class Operation : std::uint8_t {
  ldtilecfg,
  sttilecfg,
  tilerelease,
  tilezero,
  tileloadd,
  tileloaddt1,
  tilestored,
  tdpbssd,
  tdpbsud,
  tdpbusd,
  tdpbuud,
  tdpbf16ps
};
inline constexpr int operation_count = 12;

/// The mnemonic.
const char* name_of(Operation operation);

/// segment + base + index * scale + displacement. Registers are numbered as ModRM and SIB do: rax 0 to
/// r15 15.
struct MemoryOperand {
  enum Segment : std::uint8_t { ds, fs, gs };
  static constexpr int none = -1, rip = 16;

  Segment segment = ds;
  int base = none;   ///< or rip: the address of the next instruction
  int index = none;  ///< the stride of a tile
  int scale = 1;
  std::int32_t displacement = 0;

  friend bool operator==(const MemoryOperand&, const MemoryOperand&) = default;
};

struct Instruction {
  Operation operation;
  int length;                 ///< in bytes, prefixes included
  int tile = 0;               ///< ModRM.reg: what TILEZERO, a load or a store names, C of a product
  int a = 0;                  ///< ModRM.rm: A of a product, rows of k
  int b = 0;                  ///< VEX.vvvv: B of a product
  MemoryOperand memory = {};  ///< of a load, a store, LDTILECFG, STTILECFG

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// The AMX instruction at `code`, or none for any other and for reserved encodings, which raise #UD with AMX
/// too. Prefixes other than fs and gs are not known: no compiler writes them. Reads no byte beyond the
/// instruction.
std::optional<Instruction> decode(const std::uint8_t* code);

}
