// SPDX-License-Identifier: Apache-2.0
// Cuts a text into the words within which byte-pair merges may happen: the first step of tokenizing.
#pragma once
#include <string_view>
#include <vector>

namespace generate {

/// The splitting rules in use, named after the model family that introduced each. `\s`, `\p{L}` and `\p{N}`
/// have their Unicode meaning; of several alternatives the first that matches wins.
enum class SplitPattern {
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  gpt2,
  /// Every \p{N} is a word of its own; `gpt2` cuts each stretch between them.
  smollm,
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
  /// |\s*[\r\n]+|\s+(?!\S)|\s+
  llama3,
  /// As `llama3` with \p{N} in place of \p{N}{1,3}.
  qwen2,
};

/// The pattern that a GGUF file names in `tokenizer.ggml.pre`: "gpt-2" or "default", "smollm", "llama-bpe",
/// "qwen2". Throws std::runtime_error that names any other.
SplitPattern split_pattern(std::string_view name);

/// The words of `text` in order, as views into it; together they are the whole text. Each byte that is not
/// part of well-formed UTF-8 counts as one character that is neither letter, number nor white space.
std::vector<std::string_view> split_words(std::string_view text, SplitPattern pattern);

}
