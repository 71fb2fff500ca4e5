// SPDX-License-Identifier: Apache-2.0
// Operations on UTF-8 text that templates use, as Python defines them: positions count code points.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

/// Which ends of a text are stripped.
enum class Strip : std::uint8_t { left, right, both };

/// `text` without the white space at its ends; Python's str.isspace() decides.
std::string_view strip_white_space(std::string_view text, Strip ends);

/// `text` without those characters at both ends that occur in `characters`.
std::string_view strip_characters(std::string_view text, std::string_view characters);

/// The characters of `text`, each as a view; an invalid byte is one character.
std::vector<std::string_view> characters_of(std::string_view text);

/// Python's str.split(): at runs of white space if `separator` is null, else at each separator, which must
/// not be empty.
std::vector<std::string> split_text(std::string_view text, const std::string* separator);

/// The JSON string literal of `text`; characters above ASCII stay as they are.
std::string json_string(std::string_view text);

}
