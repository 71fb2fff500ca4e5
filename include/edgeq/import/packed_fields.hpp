// SPDX-License-Identifier: Apache-2.0
// A matrix of bit fields as checkpoints pack them into words: one reader for the codes and zeros of every
// integer layout.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgeq/layout/panel.hpp"
#include "edgeq/number/little_endian.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

/// In which direction of a matrix consecutive fields share a word.
enum class PackedAlong : std::uint8_t {
  columns,  ///< neighbours of one row
  rows,     ///< neighbours of one column
};

/// A matrix [rows, columns] of unsigned fields of 1 to 8 bits in little-endian words. The fields along the
/// packing direction form a line; field i of a line lies at bit i * bits of the line's words (dense), or at
/// bit i mod fields_per_word * bits of word i / fields_per_word (the upper bits of each word being left
/// over). It owns nothing; the words may lie at any address.
struct PackedFields {
  std::span<const std::byte> data;
  int bits = 4;                     ///< of one field
  int word_bits = 32;               ///< 32, or 8 for a stream of bytes
  std::size_t fields_per_word = 0;  ///< 0: dense
  PackedAlong along = PackedAlong::columns;
  std::size_t word_step = 1;  ///< words from one word of a line to its next
  std::size_t line_step = 0;  ///< words from one line to the next
  /// Position j of every eight fields of a line stands at interleave[j] of them; empty: at j.
  std::span<const std::uint8_t> interleave = {};
  /// Two's complement: `get` adds 2^(bits - 1), so that codes are unsigned.
  bool is_signed = false;

  /// The words that a line of `count` fields takes.
  constexpr std::size_t words_per_line(std::size_t count) const noexcept {
    if (fields_per_word != 0) return divide_up(count, fields_per_word);
    const auto fields = static_cast<std::size_t>(word_bits), size = static_cast<std::size_t>(bits);
    return count / fields * size + divide_up(count % fields * size, fields);  // count * bits could wrap
  }

  /// Whether all fields of a matrix [rows, columns] lie inside the data.
  constexpr bool holds(std::size_t rows, std::size_t columns) const noexcept {
    if (rows == 0 || columns == 0) return true;
    const std::size_t lines = along == PackedAlong::columns ? rows : columns;
    const std::size_t length = along == PackedAlong::columns ? columns : rows;
    const std::size_t words = data.size() / (static_cast<std::size_t>(word_bits) / 8);
    const std::size_t last = words_per_line(interleave.empty() ? length : round_up(length, 8)) - 1;
    if (words == 0 || (word_step != 0 && last > (words - 1) / word_step)) return false;
    return line_step == 0 || lines - 1 <= (words - 1 - last * word_step) / line_step;
  }

  /// The field as it is stored, or its signed number plus 2^(bits - 1).
  std::uint8_t get(std::size_t row, std::size_t column) const noexcept {
    return along == PackedAlong::columns ? field(row, column) : field(column, row);
  }

  /// The first `count` fields of a row, each plus `addend` modulo 256.
  void get_row(std::size_t row, std::size_t count, std::uint8_t addend, std::uint8_t* out) const noexcept {
    const std::size_t whole = fields_per_word != 0    ? fields_per_word
                              : word_bits % bits == 0 ? static_cast<std::size_t>(word_bits / bits)
                                                      : 0;
    if (along == PackedAlong::rows || whole == 0 || !interleave.empty()) {
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(get(row, i) + addend);
      return;
    }
    for (std::size_t begin = 0, w = row * line_step; begin < count; begin += whole, w += word_step) {
      std::uint32_t rest = word(w);  // each word is loaded once
      for (std::size_t i = begin; i < std::min(begin + whole, count); ++i, rest >>= bits % 32)
        out[i] = static_cast<std::uint8_t>(unsigned_field(rest) + addend);
    }
  }
  /// All fields of a matrix [rows, columns], row-major; it must hold them.
  std::vector<std::uint8_t> get_all(std::size_t rows, std::size_t columns) const {
    std::vector<std::uint8_t> fields(rows * columns);
    for (std::size_t i = 0; i < fields.size(); i += columns) get_row(i / columns, columns, 0, &fields[i]);
    return fields;
  }

 private:
  std::uint32_t word(std::size_t i) const noexcept {
    if (word_bits == 8) return std::to_integer<std::uint32_t>(data[i]);
    return load_little_endian<std::uint32_t>(data.data() + i * sizeof(std::uint32_t));
  }
  std::uint8_t unsigned_field(std::uint32_t value) const noexcept {
    const std::uint32_t flip = is_signed ? 1u << (bits - 1) : 0u;
    return static_cast<std::uint8_t>((value & ((1u << bits) - 1u)) ^ flip);
  }
  std::uint8_t field(std::size_t line, std::size_t i) const noexcept {
    if (!interleave.empty()) i = i / 8 * 8 + interleave[i % 8];
    const auto width = static_cast<std::size_t>(word_bits), size = static_cast<std::size_t>(bits);
    std::size_t index = 0, bit = 0;
    if (fields_per_word != 0) {
      index = i / fields_per_word;
      bit = i % fields_per_word * size;
    } else {
      index = i * size / width;
      bit = i * size % width;
    }
    const std::size_t first = line * line_step + index * word_step;
    std::uint32_t value = word(first) >> bit;
    if (bit + size > width) value |= word(first + word_step) << (width - bit);
    return unsigned_field(value);
  }
};

}
