// SPDX-License-Identifier: Apache-2.0
// The tiles of one thread and what each AMX instruction does to them, as the SDM's pages of the instructions
// say.
#pragma once
#include <cstdint>

#include "support/amx/emulator.hpp"
#include "support/amx/instruction.hpp"
#include "support/amx/tile.hpp"

namespace amx_emulator {

/// The 64 bytes that LDTILECFG reads and STTILECFG writes (SDM volume 2, LDTILECFG).
struct TileConfiguration {
  std::uint8_t palette = 0;    ///< 1; 0: no tiles
  std::uint8_t start_row = 0;  ///< where an interrupted load or store goes on
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};  ///< "colsb"; the last eight are reserved
  std::uint8_t rows[16] = {};        ///< the last eight are reserved
};
static_assert(sizeof(TileConfiguration) == 64);

/// Why an instruction does not execute. `name` is null if it does.
struct Exception {
  const char* name = nullptr;  ///< "#UD" or "#GP"
  const char* reason = nullptr;

  explicit operator bool() const { return name != nullptr; }
};

/// Memory is named by the address that the program computed. It is copied by code that sanitizers instrument,
/// so AddressSanitizer sees a tile load beyond the end of a buffer. A product's `operation` is one of the
/// TDP. Bytes of a tile beyond its shape hold anything: only LDTILECFG changes a shape, and it clears every
/// tile.
class TileState {
 public:
  bool configured() const { return configuration_.palette != 0; }

  Exception load_configuration(std::uintptr_t address);
  void store_configuration(std::uintptr_t address) const;
  void release();
  Exception zero(int tile);
  Exception load(int tile, std::uintptr_t address, std::uintptr_t stride);
  Exception store(int tile, std::uintptr_t address, std::uintptr_t stride);
  Exception multiply(Operation operation, int c, int a, int b);

 private:
  Exception usable(int tile) const;
  template <class Copy>
  Exception for_each_row(int tile, std::uintptr_t address, std::uintptr_t stride, Event event, Event split,
                         Copy copy);
  TileShape shape(int tile) const { return {configuration_.rows[tile], configuration_.row_bytes[tile]}; }

  Tile tiles_[tile_count] = {};
  TileConfiguration configuration_;
};

}
