// SPDX-License-Identifier: Apache-2.0
// Walks UTF-8 one code point at a time, keeping invalid bytes, and says what kind of character each one is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace generate {

/// The four kinds that pre-tokenizer patterns tell apart: \p{L}, \p{N}, \s and the rest.
enum class CharacterKind : std::uint8_t { letter, number, space, other };

/// One code point of a text. A byte that starts no well-formed UTF-8 sequence stands alone with `valid`
/// false.
struct Character {
  char32_t code_point = 0;
  std::uint8_t size = 1;  ///< bytes taken from the text, 1 to 4
  bool valid = true;
};

/// The character that starts at `text[offset]`; `offset` must be less than the size of the text.
Character character_at(std::string_view text, std::size_t offset);

/// The kind of a character by Unicode's general categories; an invalid byte is `other`.
CharacterKind kind_of(const Character& character);

/// Unicode's White_Space property: what \s means in a pre-tokenizer pattern.
bool is_white_space(char32_t code_point);

/// How many bytes at the end of `text` begin a UTF-8 sequence that more bytes could complete: 0 to 3.
std::size_t incomplete_suffix(std::string_view text);

}
