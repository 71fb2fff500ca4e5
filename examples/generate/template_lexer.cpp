// SPDX-License-Identifier: Apache-2.0
// The lexer: literal text is trimmed here, so that nothing after it needs to know about whitespace control.
#include "generate/template_lexer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "generate/template_text.hpp"

namespace generate {
namespace {

using Kind = TemplateToken::Kind;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string normalize_line_ends(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalize_line_ends(source)) {}

  std::vector<TemplateToken> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = find_tag();
      const bool has_tag = tag < source_.size();
      const char type = has_tag ? source_[tag + 1] : '\0';
      const char control = has_tag && tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      std::string_view text = std::string_view(source_).substr(at_, tag - at_);
      if (control == '-') {
        text = strip_white_space(text, Strip::right);
      } else if (control != '+' && (type == '%' || type == '#')) {
        text = without_indentation(text);
      }
      if (!text.empty()) add(Kind::text, std::string(text));
      move_to(tag);
      if (!has_tag) break;
      move_to(tag + (control == '-' || control == '+' ? 3 : 2));
      if (type == '#') {
        comment();
      } else {
        add(type == '%' ? Kind::statement_begin : Kind::expression_begin, std::string{'{', type});
        while (!tag_end(type == '%' ? '%' : '}')) token();
      }
    }
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  std::size_t find_tag() const {
    for (std::size_t i = at_; i + 1 < source_.size(); ++i) {
      const char next = source_[i + 1];
      if (source_[i] == '{' && (next == '{' || next == '%' || next == '#')) return i;
    }
    return source_.size();
  }

  // lstrip_blocks: blanks between the start of the line and a statement are not output.
  std::string_view without_indentation(std::string_view text) const {
    const std::size_t newline = text.rfind('\n');
    const bool starts_line = newline != text.npos || at_ == 0 || source_[at_ - 1] == '\n';
    const std::size_t line_start = newline == text.npos ? 0 : newline + 1;
    const bool blank = strip_white_space(text.substr(line_start), Strip::left).empty();
    return starts_line && blank ? text.substr(0, line_start) : text;
  }

  void comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == source_.npos) refuse_template(line_, "a comment '{#' is not closed by '#}'");
    const char control = close > at_ ? source_[close - 1] : '\0';
    move_to(close + 2);
    after_tag(control, true);
  }

  // Consumes the end of a tag, if it is here, and the white space that goes with it.
  bool tag_end(char type) {
    skip_white_space();
    const std::string_view rest = std::string_view(source_).substr(at_);
    const std::string close{type, '}'};
    const char control = !rest.empty() && (rest[0] == '-' || rest[0] == '+') ? rest[0] : '\0';
    const std::size_t size = control == '\0' ? 0 : 1;
    if (rest.substr(size, 2) != close || (control == '+' && type == '}')) return false;
    add(Kind::tag_end, close);
    move_to(at_ + size + 2);
    after_tag(control, type == '%');
    return true;
  }

  void after_tag(char control, bool trims_newline) {
    if (control == '-') {
      skip_white_space();
    } else if (control != '+' && trims_newline && at_ < source_.size() && source_[at_] == '\n') {
      move_to(at_ + 1);
    }
  }

  void skip_white_space() {
    const std::string_view rest = std::string_view(source_).substr(at_);
    move_to(source_.size() - strip_white_space(rest, Strip::left).size());
  }

  void token() {
    if (at_ >= source_.size()) refuse_template(line_, "a tag is not closed before the end of the template");
    const char c = source_[at_];
    std::size_t end = at_;
    if (is_name_start(c)) {
      while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
      add_source(Kind::name, end);
    } else if (is_digit(c)) {
      while (end < source_.size() && is_digit(source_[end])) ++end;
      if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
        refuse_template(line_, "a floating-point literal: only integers are implemented");
      }
      if (end < source_.size() && is_name_start(source_[end])) {
        refuse_template(line_, "a number that ends in '" + std::string(1, source_[end]) + "'");
      }
      add_source(Kind::integer, end);
    } else if (c == '\'' || c == '"') {
      string(c);
    } else {
      symbol();
    }
  }

  void symbol() {
    static constexpr std::array<std::string_view, 6> doubles = {"==", "!=", "<=", ">=", "//", "**"};
    static constexpr std::string_view singles = "+-~%*/<>=.,:|()[]{}";
    const std::string_view rest = std::string_view(source_).substr(at_);
    if (std::find(doubles.begin(), doubles.end(), rest.substr(0, 2)) != doubles.end()) {
      add_source(Kind::symbol, at_ + 2);
    } else if (singles.find(rest[0]) != singles.npos) {
      add_source(Kind::symbol, at_ + 1);
    } else {
      refuse_template(line_, "the character '" + std::string(1, rest[0]) + "' in a tag");
    }
  }

  void string(char quote) {
    const int line = line_;
    std::string value;
    std::size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; ++i) {
      if (source_[i] != '\\') {
        value += source_[i];
        continue;
      }
      static constexpr std::string_view names = "ntr\\'\"";
      static constexpr std::string_view values = "\n\t\r\\'\"";
      ++i;
      const std::size_t escape = i < source_.size() ? names.find(source_[i]) : names.npos;
      if (escape == names.npos) {
        refuse_template(line, "the escape '\\" + source_.substr(std::min(i, source_.size()), 1) +
                                  "' in a string: \\n, \\t, \\r, \\\\, \\' and \\\" are implemented");
      }
      value += values[escape];
    }
    if (i >= source_.size()) refuse_template(line, "a string literal is not closed");
    add(Kind::string, std::move(value));
    move_to(i + 1);
  }

  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void add_source(Kind kind, std::size_t end) {
    add(kind, source_.substr(at_, end - at_));
    move_to(end);
  }
  void move_to(std::size_t to) {
    const auto begin = source_.begin();
    line_ += static_cast<int>(
        std::count(begin + static_cast<std::ptrdiff_t>(at_), begin + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<TemplateToken> tokens_;
};

}

std::vector<TemplateToken> template_tokens(std::string_view source) {
  return Lexer(source).run();
}

void refuse_template(int line, const std::string& message) {
  throw std::runtime_error("chat template, line " + std::to_string(line) + ": " + message);
}

}
