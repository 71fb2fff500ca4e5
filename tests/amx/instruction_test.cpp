// SPDX-License-Identifier: Apache-2.0
// Encodings written out by hand from the pages of the SDM, and their neighbours that are not AMX.
#include "support/amx/instruction.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using namespace amx_emulator;

// Followed by bytes that would change the result if they were read.
std::optional<Instruction> decoded(std::vector<std::uint8_t> bytes) {
  bytes.insert(bytes.end(), 8, 0xFF);
  return decode(bytes.data());
}

MemoryOperand at(int base, int index = MemoryOperand::none, int scale = 1, std::int32_t displacement = 0) {
  return {.base = base, .index = index, .scale = scale, .displacement = displacement};
}

TEST(Instruction, NamesEveryOperation) {
  const struct {
    std::vector<std::uint8_t> bytes;
    Instruction instruction;
    const char* name;
  } cases[] = {
      {{0xC4, 0xE2, 0x78, 0x49, 0x00}, {Operation::ldtilecfg, 5, 0, 0, 0, at(0)}, "ldtilecfg"},
      {{0xC4, 0xE2, 0x79, 0x49, 0x07}, {Operation::sttilecfg, 5, 0, 0, 0, at(7)}, "sttilecfg"},
      {{0xC4, 0xE2, 0x78, 0x49, 0xC0}, {Operation::tilerelease, 5}, "tilerelease"},
      {{0xC4, 0xE2, 0x7B, 0x49, 0xE8}, {Operation::tilezero, 5, 5}, "tilezero"},
      {{0xC4, 0xE2, 0x7B, 0x4B, 0x34, 0x18}, {Operation::tileloadd, 6, 6, 0, 0, at(0, 3)}, "tileloadd"},
      {{0xC4, 0xE2, 0x79, 0x4B, 0x0C, 0xCB},
       {Operation::tileloaddt1, 6, 1, 0, 0, at(3, 1, 8)},
       "tileloaddt1"},
      {{0xC4, 0xE2, 0x7A, 0x4B, 0x3C, 0x57}, {Operation::tilestored, 6, 7, 0, 0, at(7, 2, 2)}, "tilestored"},
      {{0xC4, 0xE2, 0x6B, 0x5E, 0xC1}, {Operation::tdpbssd, 5, 0, 1, 2}, "tdpbssd"},
      {{0xC4, 0xE2, 0x42, 0x5E, 0xEE}, {Operation::tdpbsud, 5, 5, 6, 7}, "tdpbsud"},
      {{0xC4, 0xE2, 0x79, 0x5E, 0xCA}, {Operation::tdpbusd, 5, 1, 2, 0}, "tdpbusd"},
      {{0xC4, 0xE2, 0x58, 0x5E, 0xD3}, {Operation::tdpbuud, 5, 2, 3, 4}, "tdpbuud"},
      {{0xC4, 0xE2, 0x6A, 0x5C, 0xC1}, {Operation::tdpbf16ps, 5, 0, 1, 2}, "tdpbf16ps"},
  };
  EXPECT_EQ(std::size(cases), std::size_t{operation_count});
  for (const auto& [bytes, instruction, name] : cases) {
    EXPECT_EQ(decoded(bytes), instruction) << name;
    EXPECT_STREQ(name_of(instruction.operation), name);
  }
}

TEST(Instruction, ReadsEveryFormOfAddress) {
  constexpr int none = MemoryOperand::none, rip = MemoryOperand::rip, rsp = 4, rbp = 5;
  // ldtilecfg; vex[1] holds R, X, B inverted.
  const struct {
    std::vector<std::uint8_t> bytes;
    MemoryOperand memory;
  } cases[] = {
      {{0xC4, 0xE2, 0x78, 0x49, 0x05, 0x78, 0x56, 0x34, 0x12}, at(rip, none, 1, 0x12345678)},
      {{0xC4, 0xE2, 0x78, 0x49, 0x45, 0x80}, at(rbp, none, 1, -128)},
      {{0xC4, 0xE2, 0x78, 0x49, 0x80, 0xFE, 0xFF, 0xFF, 0xFF}, at(0, none, 1, -2)},
      {{0xC4, 0xC2, 0x78, 0x49, 0x00}, at(8)},
      {{0xC4, 0xC2, 0x78, 0x49, 0x45, 0x00}, at(13)},
      {{0xC4, 0xE2, 0x78, 0x49, 0x04, 0x24}, at(rsp)},
      {{0xC4, 0xC2, 0x78, 0x49, 0x04, 0x24}, at(12)},
      {{0xC4, 0xA2, 0x78, 0x49, 0x04, 0x20}, at(0, 12)},
      {{0xC4, 0x82, 0x78, 0x49, 0x44, 0xBD, 0x7F}, at(13, 15, 4, 127)},
      {{0xC4, 0xE2, 0x78, 0x49, 0x04, 0x25, 0x01, 0x00, 0x00, 0x80}, at(none, none, 1, -0x7FFFFFFF)},
      {{0xC4, 0xA2, 0x78, 0x49, 0x04, 0x45, 0x10, 0x00, 0x00, 0x00}, at(none, 8, 2, 16)},
  };
  for (const auto& [bytes, memory] : cases) {
    const std::optional<Instruction> instruction = decoded(bytes);
    ASSERT_TRUE(instruction) << testing::PrintToString(bytes);
    EXPECT_EQ(instruction->memory, memory) << testing::PrintToString(bytes);
    EXPECT_EQ(instruction->length, static_cast<int>(bytes.size()));
  }
}

TEST(Instruction, ReadsSegments) {
  EXPECT_EQ(decoded({0x64, 0xC4, 0xE2, 0x78, 0x49, 0x00})->memory.segment, MemoryOperand::fs);
  EXPECT_EQ(decoded({0x65, 0xC4, 0xE2, 0x78, 0x49, 0x00})->memory.segment, MemoryOperand::gs);
  EXPECT_EQ(decoded({0x65, 0xC4, 0xE2, 0x78, 0x49, 0x00})->length, 6);
}

TEST(Instruction, KnowsNothingElse) {
  const std::vector<std::uint8_t> others[] = {
      {0x0F, 0x0B},                          // ud2
      {0xC5, 0xF8, 0x77},                    // vzeroupper
      {0xC4, 0xE1, 0x78, 0x49, 0x00},        // map 0F
      {0xC4, 0xE3, 0x78, 0x49, 0x00},        // map 0F3A
      {0xC4, 0xE2, 0xF8, 0x49, 0x00},        // W = 1
      {0xC4, 0xE2, 0x7C, 0x49, 0x00},        // L = 1
      {0xC4, 0xE2, 0x70, 0x49, 0x00},        // ldtilecfg with vvvv
      {0xC4, 0xE2, 0x78, 0x49, 0x08},        // ldtilecfg with /1
      {0xC4, 0xE2, 0x78, 0x49, 0xC1},        // tilerelease with rm
      {0xC4, 0xE2, 0x7B, 0x49, 0xC1},        // tilezero with rm
      {0xC4, 0x62, 0x7B, 0x49, 0xC0},        // tilezero of tmm8
      {0xC4, 0xE2, 0x7B, 0x49, 0x00},        // tilezero with memory
      {0xC4, 0xE2, 0x78, 0x4B, 0x04, 0x18},  // 4B without a prefix
      {0xC4, 0xE2, 0x7B, 0x4B, 0x00},        // tileloadd without SIB
      {0xC4, 0xE2, 0x7B, 0x4B, 0xC4},        // tileloadd of a register
      {0xC4, 0xE2, 0x73, 0x4B, 0x04, 0x18},  // tileloadd with vvvv
      {0xC4, 0x62, 0x7B, 0x4B, 0x04, 0x18},  // tileloadd of tmm8
      {0xC4, 0xE2, 0x6B, 0x5E, 0x01},        // tdpbssd with memory
      {0xC4, 0x62, 0x6B, 0x5E, 0xC1},        // tdpbssd with C tmm8
      {0xC4, 0xC2, 0x6B, 0x5E, 0xC1},        // tdpbssd with A tmm9
      {0xC4, 0xE2, 0x2B, 0x5E, 0xC1},        // tdpbssd with B tmm10
      {0xC4, 0xE2, 0x6B, 0x5C, 0xC1},        // tdpfp16ps, which Sapphire Rapids lacks
      {0xC4, 0xE2, 0x6B, 0x5D, 0xC1},        // another opcode
      {0x66, 0xC4, 0xE2, 0x78, 0x49, 0xC0},  // a prefix that VEX does not allow
  };
  for (const std::vector<std::uint8_t>& bytes : others)
    EXPECT_EQ(decoded(bytes), std::nullopt) << testing::PrintToString(bytes);
}

}
