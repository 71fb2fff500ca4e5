// SPDX-License-Identifier: Apache-2.0
// Cuts a Jinja template into literal text and the tokens between its tags, applying whitespace control.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace generate {

/// What a template consists of. Tags are bracketed by their begin and end tokens.
struct TemplateToken {
  enum class Kind : std::uint8_t {
    text,              ///< literal output
    expression_begin,  ///< {{
    statement_begin,   ///< {%
    tag_end,           ///< }} or %}
    name,              ///< an identifier or keyword
    string,            ///< a string literal, escapes resolved
    integer,           ///< a decimal literal
    symbol,            ///< an operator or punctuation
    end,               ///< the end of the template
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

/// The tokens of `source`, ended by one of kind `end`. As in Jinja with trim_blocks and lstrip_blocks: the
/// first newline after a statement or comment goes, so do blanks before one that stands first on its line,
/// "-" inside a tag strips all white space on its side, "+" keeps it. Line ends become "\n", and one at the
/// end of the template is dropped. Throws std::runtime_error for what cannot be a token.
std::vector<TemplateToken> template_tokens(std::string_view source);

/// Throws std::runtime_error: "chat template, line 3: " and the message.
[[noreturn]] void refuse_template(int line, const std::string& message);

}
