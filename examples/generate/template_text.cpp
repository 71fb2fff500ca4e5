// SPDX-License-Identifier: Apache-2.0
// Python's string operations over UTF-8.
#include "generate/template_text.hpp"

#include <algorithm>
#include <iterator>

#include "generate/unicode.hpp"

namespace generate {
namespace {

bool is_python_space(std::string_view character) {
  const Character c = character_at(character, 0);
  // str.isspace() also takes the four information separators, which are not White_Space.
  return c.valid && (is_white_space(c.code_point) || (c.code_point >= 0x1C && c.code_point <= 0x1F));
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, character_at(text, 0).size);
}

std::string_view last_character(std::string_view text) {
  for (std::size_t size = std::min<std::size_t>(4, text.size()); size > 1; --size) {
    const std::string_view suffix = text.substr(text.size() - size);
    if (character_at(suffix, 0).size == size) return suffix;
  }
  return text.substr(text.size() - 1);
}

template <class Predicate>
std::string_view strip_if(std::string_view text, Strip ends, Predicate is_stripped) {
  while (ends != Strip::right && !text.empty() && is_stripped(first_character(text))) {
    text.remove_prefix(first_character(text).size());
  }
  while (ends != Strip::left && !text.empty() && is_stripped(last_character(text))) {
    text.remove_suffix(last_character(text).size());
  }
  return text;
}

}

std::string_view strip_white_space(std::string_view text, Strip ends) {
  return strip_if(text, ends, is_python_space);
}

std::string_view strip_characters(std::string_view text, std::string_view characters) {
  const std::vector<std::string_view> set = characters_of(characters);
  return strip_if(text, Strip::both, [&](std::string_view character) {
    return std::find(set.begin(), set.end(), character) != set.end();
  });
}

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    characters.push_back(first_character(text));
    text.remove_prefix(characters.back().size());
  }
  return characters;
}

std::vector<std::string> split_text(std::string_view text, const std::string* separator) {
  std::vector<std::string> parts;
  if (separator) {
    for (;;) {
      const std::size_t found = text.find(*separator);
      parts.emplace_back(text.substr(0, found));
      if (found == text.npos) return parts;
      text.remove_prefix(found + separator->size());
    }
  }
  bool in_word = false;
  for (std::string_view character : characters_of(text)) {
    if (is_python_space(character)) {
      in_word = false;
      continue;
    }
    if (!in_word) parts.emplace_back();
    in_word = true;
    parts.back() += character;
  }
  return parts;
}

std::string json_string(std::string_view text) {
  static constexpr std::string_view special = "\"\\\n\r\t\b\f";
  static constexpr std::string_view names = "\"\\nrtbf";
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string json = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t i = special.find(c); i != special.npos) {
      json += {'\\', names[i]};
    } else if (byte < 0x20) {
      json += {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
    } else {
      json += c;
    }
  }
  return json + '"';
}

}
