// SPDX-License-Identifier: Apache-2.0
// UTF-8 and character kinds, with the categories of utf8proc.
#include "generate/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace generate {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

// The length that the first byte of a UTF-8 sequence announces; 0 for a byte that starts none.
std::size_t announced_size(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

}

Character character_at(std::string_view text, std::size_t offset) {
  const std::string_view rest = text.substr(offset, 4);
  utf8proc_int32_t code_point = -1;
  const utf8proc_ssize_t size =
      utf8proc_iterate(bytes_of(rest), static_cast<utf8proc_ssize_t>(rest.size()), &code_point);
  if (size <= 0) return {static_cast<unsigned char>(rest[0]), 1, false};
  return {static_cast<char32_t>(code_point), static_cast<std::uint8_t>(size), true};
}

CharacterKind kind_of(const Character& character) {
  if (!character.valid) return CharacterKind::other;
  if (is_white_space(character.code_point)) return CharacterKind::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character.code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterKind::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterKind::number;
    default:
      return CharacterKind::other;
  }
}

bool is_white_space(char32_t code_point) {
  // Unicode's PropList.txt; utf8proc offers categories only, and the control characters are not in Z*.
  if (code_point >= 0x2000 && code_point <= 0x200A) return true;
  if (code_point >= 0x09 && code_point <= 0x0D) return true;
  static constexpr std::array<char32_t, 9> others = {0x20,   0x85,   0xA0,   0x1680, 0x2028,
                                                     0x2029, 0x202F, 0x205F, 0x3000};
  return std::find(others.begin(), others.end(), code_point) != others.end();
}

std::size_t incomplete_suffix(std::string_view text) {
  for (std::size_t size = 1; size <= 3 && size <= text.size(); ++size) {
    const std::string_view suffix = text.substr(text.size() - size);
    const auto lead = static_cast<unsigned char>(suffix[0]);
    if ((lead & 0xC0) == 0x80) continue;
    if (announced_size(lead) <= size) return 0;
    // The second byte decides whether the sequence is overlong, a surrogate or beyond U+10FFFF: complete the
    // suffix with the continuation bytes it lacks and ask whether that is a character.
    std::array<char, 4> completed = {suffix[0], static_cast<char>(0x80), static_cast<char>(0x80),
                                     static_cast<char>(0x80)};
    std::copy(suffix.begin(), suffix.end(), completed.begin());
    // After E0 and F0 alone the least continuation byte would be overlong, though others are not.
    if (size == 1 && (lead == 0xE0 || lead == 0xF0)) completed[1] = static_cast<char>(0xA0);
    return character_at({completed.data(), announced_size(lead)}, 0).valid ? size : 0;
  }
  return 0;
}

}
