// SPDX-License-Identifier: Apache-2.0
// The instructions other than products, and the rules of the SDM for when each raises #UD or #GP.
#include "support/amx/tile_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "support/amx/counts.hpp"

namespace amx_emulator {

namespace {

constexpr std::uintptr_t cache_line = 64;

Exception undefined_opcode(const char* reason) {
  return {"#UD", reason};
}
Exception general_protection(const char* reason) {
  return {"#GP", reason};
}

template <class T>
bool any_set(const T* first, const T* last) {
  return std::any_of(first, last, [](T value) { return value != 0; });
}

Exception check(const TileConfiguration& c) {
  if (c.palette > 1) return general_protection("palette above 1");
  if (any_set(std::begin(c.reserved), std::end(c.reserved)))
    return general_protection("reserved bytes are not zero");
  if (any_set(c.row_bytes + tile_count, std::end(c.row_bytes)) ||
      any_set(c.rows + tile_count, std::end(c.rows)))
    return general_protection("tile 8 or above is configured");
  for (int tile = 0; tile < tile_count; ++tile) {
    if (c.row_bytes[tile] > tile_row_bytes) return general_protection("more than 64 bytes a row");
    if (c.rows[tile] > tile_rows) return general_protection("more than 16 rows");
    if ((c.row_bytes[tile] == 0) != (c.rows[tile] == 0))
      return general_protection("only one of rows and colsb is zero");
  }
  return {};
}

bool is_split(std::uintptr_t address, std::size_t bytes) {
  return address / cache_line != (address + bytes - 1) / cache_line;
}

}

Exception TileState::load_configuration(std::uintptr_t address) {
  TileConfiguration loaded;
  std::memcpy(&loaded, reinterpret_cast<const void*>(address), sizeof loaded);
  asm volatile("" : "+m"(loaded));  // keeps the copy whole, also where a palette of 0 needs no other byte
  if (loaded.palette == 0) loaded = {};  // what else it holds is not looked at
  if (const Exception exception = check(loaded)) return exception;
  release();
  configuration_ = loaded;
  return {};
}

void TileState::store_configuration(std::uintptr_t address) const {
  std::memcpy(reinterpret_cast<void*>(address), &configuration_, sizeof configuration_);
}

void TileState::release() {
  std::memset(tiles_, 0, sizeof tiles_);
  configuration_ = {};
}

Exception TileState::usable(int tile) const {
  if (!configured()) return undefined_opcode("no tiles are configured");
  if (configuration_.rows[tile] == 0) return undefined_opcode("a tile is not configured");
  if (configuration_.row_bytes[tile] % 4 != 0) return undefined_opcode("colsb is not a multiple of 4");
  return {};
}

Exception TileState::zero(int tile) {
  if (const Exception exception = usable(tile)) return exception;
  std::memset(&tiles_[tile], 0, sizeof(Tile));
  configuration_.start_row = 0;
  return {};
}

// An access to memory that faults should leave start_row at its row. Here a SIGSEGV handler that returns goes
// on inside the copy instead, and one that jumps out finds start_row as it was.
template <class Copy>
Exception TileState::for_each_row(int tile, std::uintptr_t address, std::uintptr_t stride, Event event,
                                  Event split, Copy copy) {
  if (const Exception exception = usable(tile)) return exception;
  if (configuration_.start_row >= configuration_.rows[tile])
    return undefined_opcode("start_row is not below rows");
  const std::size_t bytes = configuration_.row_bytes[tile];
  for (unsigned row = configuration_.start_row; row < configuration_.rows[tile]; ++row) {
    const std::uintptr_t place = address + row * stride;
    copy(tiles_[tile].row[row], place, bytes);
    count(event);
    if (is_split(place, bytes)) count(split);
  }
  configuration_.start_row = 0;
  return {};
}

Exception TileState::load(int tile, std::uintptr_t address, std::uintptr_t stride) {
  return for_each_row(tile, address, stride, Event::row_load, Event::row_load_split,
                      [](std::uint8_t* row, std::uintptr_t source, std::size_t bytes) {
                        std::memcpy(row, reinterpret_cast<const void*>(source), bytes);
                      });
}

Exception TileState::store(int tile, std::uintptr_t address, std::uintptr_t stride) {
  return for_each_row(tile, address, stride, Event::row_store, Event::row_store_split,
                      [](const std::uint8_t* row, std::uintptr_t destination, std::size_t bytes) {
                        std::memcpy(reinterpret_cast<void*>(destination), row, bytes);
                      });
}

Exception TileState::multiply(Operation operation, int c, int a, int b) {
  if (c == a || c == b || a == b) return undefined_opcode("two operands are the same tile");
  for (const int tile : {c, a, b})
    if (const Exception exception = usable(tile)) return exception;
  const TileShape c_shape = shape(c), a_shape = shape(a), b_shape = shape(b);
  if (c_shape.rows != a_shape.rows) return undefined_opcode("C and A differ in rows");
  if (c_shape.row_bytes != b_shape.row_bytes) return undefined_opcode("C and B differ in colsb");
  if (a_shape.row_bytes / 4 != b_shape.rows)
    return undefined_opcode("colsb of A is not 4 times the rows of B");

  add_product(operation, tiles_[c], tiles_[a], tiles_[b], c_shape, a_shape);
  configuration_.start_row = 0;
  count(Event::product);
  if (c_shape.rows < tile_rows || c_shape.row_bytes < tile_row_bytes) count(Event::product_in_part);
  if (a_shape.row_bytes < tile_row_bytes) count(Event::product_of_short_k);
  return {};
}

}
