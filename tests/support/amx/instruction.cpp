// SPDX-License-Identifier: Apache-2.0
// The decoder. Encodings: Intel SDM volume 2, sections 2.3 (VEX), 2.1.5 (ModRM, SIB), and the page of each
// instruction.
#include "support/amx/instruction.hpp"

#include <cstddef>
#include <cstring>

namespace amx_emulator {

namespace {

enum class Form { configuration, release, one_tile, tile_memory, three_tiles };
enum Prefix : std::uint8_t { np, p66, pF3, pF2 };  // VEX.pp

struct Encoding {
  const char* name;
  std::uint8_t opcode;  // of map 0F38
  Prefix prefix;
  Form form;
};

// In the order of Operation.
constexpr Encoding encodings[operation_count] = {
    {"ldtilecfg", 0x49, np, Form::configuration}, {"sttilecfg", 0x49, p66, Form::configuration},
    {"tilerelease", 0x49, np, Form::release},     {"tilezero", 0x49, pF2, Form::one_tile},
    {"tileloadd", 0x4B, pF2, Form::tile_memory},  {"tileloaddt1", 0x4B, p66, Form::tile_memory},
    {"tilestored", 0x4B, pF3, Form::tile_memory}, {"tdpbssd", 0x5E, pF2, Form::three_tiles},
    {"tdpbsud", 0x5E, pF3, Form::three_tiles},    {"tdpbusd", 0x5E, p66, Form::three_tiles},
    {"tdpbuud", 0x5E, np, Form::three_tiles},     {"tdpbf16ps", 0x5C, pF3, Form::three_tiles},
};

constexpr bool names_memory(Form form) {
  return form == Form::configuration || form == Form::tile_memory;
}

// The fields of VEX and ModRM, as numbers: VEX stores R, X, B and vvvv inverted.
struct Fields {
  int r, x, b;  // 8 where the field extends a register number
  int vvvv;
  int mod, reg, rm;

  Fields(const std::uint8_t* vex, std::uint8_t modrm)
      : r(vex[1] & 0x80 ? 0 : 8),
        x(vex[1] & 0x40 ? 0 : 8),
        b(vex[1] & 0x20 ? 0 : 8),
        vvvv(15 - (vex[2] >> 3 & 15)),
        mod(modrm >> 6),
        reg(modrm >> 3 & 7),
        rm(modrm & 7) {}

  bool is_valid(Form form) const {
    if (r != 0) return false;  // there is no tmm8
    if (form == Form::three_tiles) return b == 0 && vvvv < 8;
    if (vvvv != 0) return false;
    switch (form) {
      case Form::configuration:
        return reg == 0;
      case Form::release:
        return reg == 0 && rm == 0;
      case Form::one_tile:
        return rm == 0;
      default:
        return rm == 4;  // a tile's memory operand has a SIB byte
    }
  }
};

// Reads the SIB byte and the displacement, which begin at `next`, and moves it past them.
MemoryOperand decode_memory(const Fields& fields, MemoryOperand::Segment segment, const std::uint8_t*& next) {
  MemoryOperand memory{.segment = segment, .base = fields.rm | fields.b};
  bool has_base = true;
  if (fields.rm == 4) {
    const int sib = *next++;
    memory.scale = 1 << (sib >> 6);
    memory.index = (sib >> 3 & 7) | fields.x;
    if (memory.index == 4) memory.index = MemoryOperand::none;  // the number of rsp
    memory.base = (sib & 7) | fields.b;
    has_base = fields.mod != 0 || (sib & 7) != 5;
    if (!has_base) memory.base = MemoryOperand::none;
  } else if (fields.mod == 0 && fields.rm == 5) {
    has_base = false;
    memory.base = MemoryOperand::rip;
  }
  if (fields.mod == 1) {
    memory.displacement = static_cast<std::int8_t>(*next++);
  } else if (fields.mod == 2 || !has_base) {
    std::memcpy(&memory.displacement, next, sizeof memory.displacement);
    next += sizeof memory.displacement;
  }
  return memory;
}

}

const char* name_of(Operation operation) {
  return encodings[static_cast<std::size_t>(operation)].name;
}

std::optional<Instruction> decode(const std::uint8_t* code) {
  const std::uint8_t* vex = code;
  MemoryOperand::Segment segment = MemoryOperand::ds;
  if (*vex == 0x64 || *vex == 0x65) segment = *vex++ == 0x64 ? MemoryOperand::fs : MemoryOperand::gs;

  // Each byte is looked at only if those before it are AMX's: three-byte VEX, map 0F38, W = 0, L = 0.
  if (vex[0] != 0xC4 || (vex[1] & 0x1F) != 2 || (vex[2] & 0x84) != 0) return std::nullopt;
  if (vex[3] != 0x49 && vex[3] != 0x4B && vex[3] != 0x5C && vex[3] != 0x5E) return std::nullopt;
  const Fields fields(vex, vex[4]);
  for (int i = 0; i < operation_count; ++i) {
    const Encoding& encoding = encodings[i];
    if (encoding.opcode != vex[3] || encoding.prefix != (vex[2] & 3)) continue;
    if (names_memory(encoding.form) != (fields.mod != 3) || !fields.is_valid(encoding.form)) continue;
    const std::uint8_t* next = vex + 5;
    Instruction instruction{.operation = static_cast<Operation>(i), .length = 0, .tile = fields.reg};
    if (encoding.form == Form::three_tiles) {
      instruction.a = fields.rm;
      instruction.b = fields.vvvv;
    } else if (names_memory(encoding.form)) {
      instruction.memory = decode_memory(fields, segment, next);
    }
    instruction.length = static_cast<int>(next - code);
    return instruction;
  }
  return std::nullopt;
}

}
