// SPDX-License-Identifier: Apache-2.0
// Turns an expression into the program of a ModulePattern. Users include
// edgeq/import/quantization_config_pattern.hpp.
#pragma once
#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgeq/config.hpp"
#include "edgeq/import/in_quotes.hpp"
#include "edgeq/import/quantization_config_pattern.hpp"
#include "edgeq/result.hpp"

namespace edgeq::inline EDGEQ_BASELINE {

namespace detail {

// Recursive descent over the expression; each function appends the instructions of what it reads. Jumps are
// relative, so that instructions can be moved and copied.
class PatternParser {
 public:
  explicit PatternParser(std::string_view expression) noexcept : text_(expression) {}

  Result<ModulePattern> parse() {
    alternatives(0);
    if (!error_ && !at_end()) fail(ErrorCode::invalid_file, "an unmatched ')'");
    if (error_) return *std::move(error_);
    emit({Operation::accept});
    return std::move(pattern_);
  }

 private:
  using Operation = ModulePattern::Operation;
  using Instruction = ModulePattern::Instruction;
  using Set = std::bitset<256>;
  static constexpr std::size_t max_depth = 32;
  static constexpr std::size_t unbounded = static_cast<std::size_t>(-1);

  bool at_end() const noexcept { return position_ == text_.size(); }
  bool next_is(char c) const noexcept { return !at_end() && text_[position_] == c; }
  bool skip(std::string_view text) noexcept {
    if (!text_.substr(position_).starts_with(text)) return false;
    position_ += text.size();
    return true;
  }
  // Keeps the first error and leaves nothing to read, so that every loop ends at once.
  void fail(ErrorCode code, const std::string& what) {
    if (!error_) error_ = Error{code, "the expression " + in_quotes(text_) + " has " + what};
    position_ = text_.size();
  }

  std::vector<Instruction>& program() noexcept { return pattern_.program_; }
  std::size_t size() const noexcept { return pattern_.program_.size(); }
  void emit(Instruction instruction) { program().push_back(instruction); }
  void emit_set(const Set& set) {
    emit({Operation::set, 0, static_cast<std::int32_t>(pattern_.sets_.size())});
    pattern_.sets_.push_back(set);
  }
  static std::int32_t distance(std::size_t from, std::size_t to) noexcept {
    return static_cast<std::int32_t>(to) - static_cast<std::int32_t>(from);
  }

  // a|b|c: each alternative begins with a slot that may become the split to the next one, and all but the
  // last end with a jump to the end.
  void alternatives(std::size_t depth) {
    std::vector<std::size_t> jumps;
    for (;;) {
      const std::size_t slot = size();
      emit({Operation::jump, 0, 1});
      while (!at_end() && !next_is('|') && !next_is(')')) repeated_atom(depth);
      if (!skip("|")) break;
      jumps.push_back(size());
      emit({Operation::jump, 0, 0});
      program()[slot] = {Operation::split, 0, distance(slot, size())};
    }
    for (const std::size_t jump : jumps) program()[jump].target = distance(jump, size());
  }

  void repeated_atom(std::size_t depth) {
    const std::size_t start = size();
    if (!atom(depth)) return;
    std::size_t least = 1, most = 1;
    if (skip("*")) {
      least = 0, most = unbounded;
    } else if (skip("+")) {
      most = unbounded;
    } else if (skip("?")) {
      least = 0;
    } else if (skip("{")) {
      if (!counts(least, most)) return;
    } else {
      return;
    }
    if (skip("+")) return fail(ErrorCode::unsupported, "a possessive quantifier");
    skip("?");  // whether as much or as little as possible is tried first, the same names match
    repeat(start, least, most);
  }

  // m}, m,} or m,n} after the brace.
  bool counts(std::size_t& least, std::size_t& most) {
    const auto number = [&]() -> std::optional<std::size_t> {
      const std::size_t begin = position_;
      std::size_t value = 0;
      while (!at_end() && is_digit(text_[position_]) && position_ < begin + 6)
        value = value * 10 + static_cast<std::size_t>(text_[position_++] - '0');
      return position_ == begin ? std::nullopt : std::optional(value);
    };
    const auto first = number();
    auto second = first;
    if (skip(",")) second = next_is('}') ? unbounded : number();
    if (!first || !second || *second < *first || !skip("}")) {
      fail(ErrorCode::unsupported, "a '{' that begins no count such as {2,3}");
      return false;
    }
    least = *first, most = *second;
    return true;
  }

  // Repeats the instructions from `start` on.
  void repeat(std::size_t start, std::size_t least, std::size_t most) {
    const std::vector<Instruction> once(program().begin() + static_cast<std::ptrdiff_t>(start),
                                        program().end());
    program().resize(start);
    const auto length = static_cast<std::int32_t>(once.size());
    const bool loops = most == unbounded;
    const std::size_t copies = loops ? std::max<std::size_t>(least, 1) : most;
    if (start + copies * (once.size() + 2) > 8 * text_.size() + 16) {
      return fail(ErrorCode::unsupported, "repetitions of more than 8 times its length");
    }
    for (std::size_t i = 0; i < copies; ++i) {
      const bool is_optional = i >= least;
      if (is_optional) emit({Operation::split, 0, length + (loops ? 2 : 1)});
      program().insert(program().end(), once.begin(), once.end());
      if (is_optional && loops) emit({Operation::jump, 0, -length - 1});
    }
    if (least > 0 && loops) emit({Operation::split, 0, -length});
  }

  // One character, class, group or anchor; false if there is nothing to repeat.
  bool atom(std::size_t depth) {
    if (skip("(")) return group(depth);
    if (skip("[")) return set();
    const char c = text_[position_++];
    switch (c) {
      case '.':
        emit({Operation::any});
        return true;
      case '^':
        emit({Operation::begin});
        return false;
      case '$':
        emit({Operation::end});
        return false;
      case '*':
      case '+':
      case '?':
        fail(ErrorCode::invalid_file, "a quantifier with nothing to repeat");
        return false;
      case '{':
        fail(ErrorCode::unsupported, "a '{' that follows nothing");
        return false;
      case '\\':
        if (const auto escape = escaped()) emit_set(*escape);
        return !error_;
      default:
        emit({Operation::byte, c});
        return true;
    }
  }

  bool group(std::size_t depth) {
    if (!skip("?:") && next_is('?')) fail(ErrorCode::unsupported, "a group that begins with \"(?\"");
    if (depth == max_depth) fail(ErrorCode::unsupported, "more than 32 groups in each other");
    alternatives(depth + 1);
    if (!error_ && !skip(")")) fail(ErrorCode::invalid_file, "an unmatched '('");
    return !error_;
  }

  // What stands behind a backslash, as a set.
  std::optional<Set> escaped() {
    if (at_end()) {
      fail(ErrorCode::invalid_file, "a backslash at its end");
      return std::nullopt;
    }
    const char c = text_[position_++];
    const char lower = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    Set set;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const char byte = static_cast<char>(i);
      if (lower == 'd') set[i] = is_digit(byte);
      if (lower == 'w') set[i] = is_word(byte);
      if (lower == 's') set[i] = byte == ' ' || (byte >= '\t' && byte <= '\r');
    }
    if (set.none()) {
      if (is_word(c) && c != '_') {
        fail(ErrorCode::unsupported, std::string("the escape \\") + c);
        return std::nullopt;
      }
      set.set(static_cast<unsigned char>(c));
    }
    return is_upper(c) ? ~set : set;
  }

  // [...] after the bracket.
  bool set() {
    Set result;
    const bool negated = skip("^");
    bool first = true;
    while (!error_ && (first || !next_is(']'))) {
      first = false;
      const auto low = set_item();
      if (!low) break;
      result |= *low;
      if (next_is('-') && position_ + 1 < text_.size() && text_[position_ + 1] != ']') {
        ++position_;
        const auto high = set_item();
        if (!high) break;
        if (low->count() != 1 || high->count() != 1) {
          fail(ErrorCode::invalid_file, "a range of classes");
          break;
        }
        const std::size_t from = only(*low), to = only(*high);
        if (from > to) fail(ErrorCode::invalid_file, "a range that runs backwards");
        for (std::size_t i = from; i <= to; ++i) result.set(i);
      }
    }
    if (!error_ && !skip("]")) fail(ErrorCode::invalid_file, "an unmatched '['");
    emit_set(negated ? ~result : result);
    return !error_;
  }

  std::optional<Set> set_item() {
    if (at_end()) {
      fail(ErrorCode::invalid_file, "an unmatched '['");
      return std::nullopt;
    }
    if (skip("\\")) return escaped();
    return Set().set(static_cast<unsigned char>(text_[position_++]));
  }

  static std::size_t only(const Set& set) noexcept {
    std::size_t i = 0;
    while (!set[i]) ++i;
    return i;
  }
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  static bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
  static bool is_word(char c) noexcept {
    return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || c == '_';
  }

  std::string_view text_;
  std::size_t position_ = 0;
  ModulePattern pattern_;
  std::optional<Error> error_;
};

}

inline Result<ModulePattern> ModulePattern::regex(std::string_view expression) {
  return detail::PatternParser(expression).parse();
}

}
