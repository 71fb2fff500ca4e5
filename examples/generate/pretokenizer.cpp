// SPDX-License-Identifier: Apache-2.0
// The splitting patterns written out by hand over character kinds, one function per alternative.
#include "generate/pretokenizer.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "generate/unicode.hpp"

namespace generate {
namespace {

struct Letter {
  std::size_t offset;
  CharacterKind kind;
  char ascii;  // 0 for what is not ASCII
};

std::vector<Letter> classify(std::string_view text) {
  std::vector<Letter> letters;
  letters.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    const Character character = character_at(text, offset);
    const bool is_ascii = character.valid && character.code_point < 0x80;
    letters.push_back({offset, kind_of(character), is_ascii ? text[offset] : '\0'});
    offset += character.size;
  }
  return letters;
}

// Finds where the word that starts at `at` ends, in a text of which it sees the letters before `end` only.
// An alternative that does not match returns `at` itself.
class WordMatcher {
 public:
  WordMatcher(const std::vector<Letter>& letters, std::size_t at, std::size_t end)
      : letters_(letters), at_(at), end_(end) {}

  std::size_t gpt2() const {
    if (const std::size_t next = contraction(false); next != at_) return next;
    for (CharacterKind kind : {CharacterKind::letter, CharacterKind::number, CharacterKind::other}) {
      if (const std::size_t next = run_after_space(kind); next != at_) return next;
    }
    return spaces();
  }

  std::size_t llama3(std::size_t digits_per_word) const {
    if (const std::size_t next = contraction(true); next != at_) return next;
    if (const std::size_t next = letters_after_any(); next != at_) return next;
    if (is(at_, CharacterKind::number)) {
      return std::min(run(at_, CharacterKind::number), at_ + digits_per_word);
    }
    if (std::size_t next = run_after_space(CharacterKind::other); next != at_) {
      while (is_line_end(next)) ++next;
      return next;
    }
    if (const std::size_t next = through_last_line_end(); next != at_) return next;
    return spaces();
  }

 private:
  bool is(std::size_t i, CharacterKind kind) const { return i < end_ && letters_[i].kind == kind; }
  bool is_line_end(std::size_t i) const { return ascii(i) == '\r' || ascii(i) == '\n'; }
  char ascii(std::size_t i) const { return i < end_ ? letters_[i].ascii : '\0'; }

  std::size_t run(std::size_t i, CharacterKind kind) const {
    while (is(i, kind)) ++i;
    return i;
  }

  // 's|'t|'re|'ve|'m|'ll|'d
  std::size_t contraction(bool any_case) const {
    if (ascii(at_) != '\'') return at_;
    const auto letter = [&](std::size_t i) {
      const char c = ascii(i);
      return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = letter(at_ + 1);
    const char second = letter(at_ + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at_ + 2;
    if ((first == 'r' || first == 'v') && second == 'e') return at_ + 3;
    return first == 'l' && second == 'l' ? at_ + 3 : at_;
  }

  // " ?" and one or more of `kind`
  std::size_t run_after_space(CharacterKind kind) const {
    const std::size_t start = at_ + (ascii(at_) == ' ' ? 1 : 0);
    return is(start, kind) ? run(start, kind) : at_;
  }

  // [^\r\n\p{L}\p{N}]?\p{L}+
  std::size_t letters_after_any() const {
    const bool starts_with_letter = is(at_, CharacterKind::letter);
    if (!starts_with_letter && (is_line_end(at_) || is(at_, CharacterKind::number))) return at_;
    const std::size_t start = at_ + (starts_with_letter ? 0 : 1);
    return is(start, CharacterKind::letter) ? run(start, CharacterKind::letter) : at_;
  }

  // \s*[\r\n]+
  std::size_t through_last_line_end() const {
    std::size_t next = run(at_, CharacterKind::space);
    while (next > at_ && !is_line_end(next - 1)) --next;
    return next;
  }

  // \s+(?!\S)|\s+ : the last space of a run belongs to the word that follows, unless it is the only one.
  std::size_t spaces() const {
    const std::size_t next = run(at_, CharacterKind::space);
    return next == end_ || next - at_ == 1 ? next : next - 1;
  }

  const std::vector<Letter>& letters_;
  std::size_t at_;
  std::size_t end_;
};

}

SplitPattern split_pattern(std::string_view name) {
  if (name == "gpt-2" || name == "default") return SplitPattern::gpt2;
  if (name == "smollm") return SplitPattern::smollm;
  if (name == "llama-bpe") return SplitPattern::llama3;
  if (name == "qwen2") return SplitPattern::qwen2;
  throw std::runtime_error(
      "tokenizer.ggml.pre is '" + std::string(name) +
      "': the pre-tokenizers known here are gpt-2, default, smollm, llama-bpe and qwen2");
}

std::vector<std::string_view> split_words(std::string_view text, SplitPattern pattern) {
  const std::vector<Letter> letters = classify(text);
  const auto offset = [&](std::size_t i) { return i < letters.size() ? letters[i].offset : text.size(); };
  std::vector<std::string_view> words;
  std::size_t stretch_end = 0;
  for (std::size_t at = 0; at < letters.size();) {
    std::size_t next = at + 1;
    switch (pattern) {
      case SplitPattern::gpt2:
        next = WordMatcher(letters, at, letters.size()).gpt2();
        break;
      case SplitPattern::llama3:
        next = WordMatcher(letters, at, letters.size()).llama3(3);
        break;
      case SplitPattern::qwen2:
        next = WordMatcher(letters, at, letters.size()).llama3(1);
        break;
      case SplitPattern::smollm:
        if (letters[at].kind == CharacterKind::number) break;
        // The look-ahead must not see past the next number.
        stretch_end = std::max(stretch_end, at);
        while (stretch_end < letters.size() && letters[stretch_end].kind != CharacterKind::number) {
          ++stretch_end;
        }
        next = WordMatcher(letters, at, stretch_end).gpt2();
        break;
    }
    words.push_back(text.substr(offset(at), offset(next) - offset(at)));
    at = next;
  }
  return words;
}

}
