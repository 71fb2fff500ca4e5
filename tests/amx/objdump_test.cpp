// SPDX-License-Identifier: Apache-2.0
// The decoder against objdump of binutils: random bytes in and around the AMX encodings, each text the same
// or neither one.
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/amx/instruction.hpp"

namespace {

using namespace amx_emulator;

// One candidate to a slot, most of them as their opcode wants them. An instruction has at most 15 bytes, so
// whatever objdump makes of the candidate, it is in step again at the next slot.
constexpr std::size_t slots = 6000, slot_bytes = 32;
constexpr std::uint8_t nop = 0x90;

std::vector<std::uint8_t> random_candidates() {
  std::mt19937 random(1);
  const auto below = [&](unsigned limit) { return static_cast<std::uint8_t>(random() % limit); };
  std::vector<std::uint8_t> code(slots * slot_bytes, nop);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    std::uint8_t* next = &code[slot * slot_bytes];
    constexpr std::uint8_t opcodes[] = {0x49, 0x4B, 0x5C, 0x5E}, segments[] = {0x64, 0x65};
    const std::uint8_t opcode = opcodes[below(4)], prefix = below(4);
    const bool product = opcode >= 0x5C, any = below(8) == 0;
    const int mod = product ? 3 : below(opcode == 0x49 ? 4 : 3);
    const int reg = opcode == 0x49 && (mod != 3 || prefix == 0) ? 0 : below(8);
    const int rm = opcode == 0x4B ? 4 : mod == 3 && !product ? 0 : below(8);
    if (mod != 3 && below(4) == 0) *next++ = segments[below(2)];
    *next++ = 0xC4;
    // R, X, B inverted, and map 2; then W, vvvv inverted, L, pp.
    *next++ = static_cast<std::uint8_t>((any ? below(8) << 5 : mod == 3 ? 0xE0 : 0x80 | below(4) << 5) | 2);
    *next++ = static_cast<std::uint8_t>((any       ? below(64) << 2
                                         : product ? 0x40 | below(8) << 3
                                                   : 0x78) |
                                        prefix);
    *next++ = opcode;
    *next++ = static_cast<std::uint8_t>(mod << 6 | reg << 3 | (any ? below(8) : rm));
    *next++ = below(256);
    for (int i = 0; i < 4; ++i) *next++ = below(4) == 0 ? 0 : below(256);
  }
  return code;
}

std::string hexadecimal(std::int64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

std::string text_of(const MemoryOperand& memory) {
  static const char* const registers[] = {"%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp",
                                          "%rsi", "%rdi", "%r8",  "%r9",  "%r10", "%r11",
                                          "%r12", "%r13", "%r14", "%r15", "%rip"};
  static const char* const segments[] = {"", "%fs:", "%gs:"};
  std::string text = segments[memory.segment];
  const bool absolute = memory.base == MemoryOperand::none && memory.index == MemoryOperand::none;
  if (absolute) return text + hexadecimal(memory.displacement);
  if (memory.displacement < 0) text += "-" + hexadecimal(-std::int64_t{memory.displacement});
  if (memory.displacement > 0) text += hexadecimal(memory.displacement);
  text += "(";
  if (memory.base != MemoryOperand::none) text += registers[memory.base];
  if (memory.index != MemoryOperand::none)
    text += std::string(",") + registers[memory.index] + "," + std::to_string(memory.scale);
  return text + ")";
}

// In the assembler's AT&T syntax.
std::string text_of(const Instruction& instruction) {
  const auto tile = [](int number) { return "%tmm" + std::to_string(number); };
  const std::string name = name_of(instruction.operation), memory = text_of(instruction.memory);
  switch (instruction.operation) {
    case Operation::ldtilecfg:
    case Operation::sttilecfg:
      return name + " " + memory;
    case Operation::tilerelease:
      return name;
    case Operation::tilezero:
      return name + " " + tile(instruction.tile);
    case Operation::tileloadd:
    case Operation::tileloaddt1:
      return name + " " + memory + "," + tile(instruction.tile);
    case Operation::tilestored:
      return name + " " + tile(instruction.tile) + "," + memory;
    default:
      return name + " " + tile(instruction.b) + "," + tile(instruction.a) + "," + tile(instruction.tile);
  }
}

void remove(std::string& text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
}

// objdump's line without what it says twice: the target of rip, an index that is none, a displacement of 0.
std::string normalized(std::string text) {
  text.erase(std::min(text.find('#'), text.size()));
  text.erase(text.find_last_not_of(" \n") + 1);
  for (const char* scale : {"1", "2", "4", "8"}) remove(text, std::string(",%riz,") + scale);
  remove(text, "()");
  const std::size_t zero = text.find("0x0(");
  if (zero != std::string::npos) text.erase(zero, 3);
  return text;
}

bool is_instruction_of_ours(const std::string& text) {
  if (text.find("(bad)") != std::string::npos) return false;
  for (int operation = 0; operation < operation_count; ++operation)
    if (text.substr(0, text.find_first_of(" \n")) == name_of(static_cast<Operation>(operation))) return true;
  return false;
}

// The texts by address; those that are not our instructions are left out.
std::map<std::size_t, std::string> disassembled(const std::vector<std::uint8_t>& code) {
  const std::string path = testing::TempDir() + "edgeq_amx_candidates.bin";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
  std::map<std::size_t, std::string> texts;
  FILE* pipe = popen(
      ("objdump -D -b binary -m i386:x86-64 -w --no-show-raw-insn " + path + " 2>/dev/null").c_str(), "r");
  char line[256];
  while (pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr) {
    unsigned long address;
    int begin = 0;
    if (sscanf(line, " %lx:%n", &address, &begin) != 1 || begin == 0) continue;
    const std::string text = line + begin + 1;
    if (is_instruction_of_ours(text)) texts[address] = normalized(text);
  }
  if (pipe != nullptr) pclose(pipe);
  std::remove(path.c_str());
  return texts;
}

bool has_tile_twice(const Instruction& product) {
  return product.tile == product.a || product.tile == product.b || product.a == product.b;
}

TEST(Decoder, AgreesWithObjdump) {
  const std::vector<std::uint8_t> code = random_candidates();
  const std::map<std::size_t, std::string> texts = disassembled(code);
  if (texts.empty()) GTEST_SKIP() << "no objdump, or one that does not know AMX";
  std::map<Operation, int> found;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const std::size_t address = slot * slot_bytes;
    const std::optional<Instruction> instruction = decode(&code[address]);
    // objdump prints no product that names a tile twice; here it is an instruction, which faults.
    if (instruction && instruction->operation >= Operation::tdpbssd && has_tile_twice(*instruction)) continue;
    const auto expected = texts.find(address);
    if (instruction) ++found[instruction->operation];
    EXPECT_EQ(instruction ? text_of(*instruction) : "", expected == texts.end() ? "" : expected->second)
        << "slot " << slot << ": "
        << testing::PrintToString(std::vector(&code[address], &code[address + 12]));
  }
  for (int operation = 0; operation < operation_count; ++operation)
    EXPECT_GE(found[static_cast<Operation>(operation)], 20) << name_of(static_cast<Operation>(operation));
}

}
